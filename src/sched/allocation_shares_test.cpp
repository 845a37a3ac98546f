#include "sched/allocation_shares.h"

#include <gtest/gtest.h>

#include <set>

#include "accounts/billing.h"
#include "model/accounts.pb.h"
#include "model/cluster.pb.h"
#include "model/job_terms.pb.h"

namespace minke::sched {
namespace {

struct Given {
  const char* account;
  const char* parent = "root";
  double core_years = 0;
  double rgu_years = 0;
  std::uint32_t shares = 1;
};

accounts::AccountBook book_of(const std::vector<Given>& all) {
  accounts::AccountsChange change;
  for (const Given& one : all) {
    model::AccountRecord account;
    account.set_name(one.account);
    change.accounts.push_back(account);
    model::AssociationRecord record;
    record.set_account(one.account);
    record.set_parent_account(one.parent);
    record.set_shares(one.shares);
    record.set_core_years(one.core_years);
    record.set_rgu_years(one.rgu_years);
    change.associations.push_back(record);
  }
  accounts::AccountBook book;
  EXPECT_TRUE(book.apply(change));
  return book;
}

class Shares {
 public:
  Shares(const std::vector<Given>& all, Capacity capacity, std::set<std::string> active)
      : book_(book_of(all)), shares_(allocation_shares(book_, capacity, [&](std::uint32_t id) {
          return active.contains(book_.association(id)->account());
        })) {}
  std::uint32_t operator[](const std::string& account) const { return shares_.at(book_.find(account)->id()); }

 private:
  accounts::AccountBook book_;
  std::unordered_map<std::uint32_t, std::uint32_t> shares_;
};

// Fir: 193 cores and 2000 RGU were given to one group; the rest is everybody's.
TEST(AllocationShares, OthersShareEquallyWhatIsLeft) {
  const Shares shares({{"rrg-a_cpu", "root", 193, 0},
                       {"rrg-a_gpu", "root", 0, 2000},
                       {"def-b_cpu"},
                       {"def-c_cpu"},
                       {"def-d_cpu"},
                       {"def-b_gpu"}},
                      {1193, 2500}, {"def-b_cpu", "def-c_cpu", "def-b_gpu"});
  EXPECT_EQ(shares["rrg-a_cpu"], 193'000u);
  EXPECT_EQ(shares["rrg-a_gpu"], 2'000'000u);
  EXPECT_EQ(shares["def-b_cpu"], 500'000u);
  EXPECT_EQ(shares["def-c_cpu"], 500'000u);
  EXPECT_EQ(shares["def-d_cpu"], 1u);  // has no jobs
  EXPECT_EQ(shares["def-b_gpu"], 500'000u);
}

TEST(AllocationShares, AnAccountThatIsNotSplitHasBoth) {
  const Shares shares({{"rrg-a", "root", 100, 52}, {"def-b"}}, {200, 60}, {"def-b"});
  EXPECT_EQ(shares["rrg-a"], 152'000u);
  EXPECT_EQ(shares["def-b"], 108'000u);
}

TEST(AllocationShares, BelowAnAllocationItIsDividedAndMayBeUsedUp) {
  const Shares shares({{"rpp", "root", 10, 0}, {"x", "rpp", 8, 0}, {"y", "rpp"}, {"z", "root", 90, 0}, {"w"}},
                      {50, 0}, {"y", "w"});
  EXPECT_EQ(shares["x"], 8'000u);
  EXPECT_EQ(shares["y"], 2'000u);
  EXPECT_EQ(shares["w"], 1u);  // more was given away than there is
}

TEST(AllocationShares, WithoutAllocationsSharesAreAsGiven) {
  const Shares shares(
      {{"a", "root", 0, 0, 3}, {"b", "root", 0, 0, accounts::kSharesAsParent}, {"c", "a", 5, 0}}, {9, 0}, {});
  EXPECT_EQ(shares["a"], 3u);
  EXPECT_EQ(shares["b"], accounts::kSharesAsParent);
  EXPECT_EQ(shares["c"], 5'000u);
}

TEST(AllocationShares, CapacityOfAMachine) {
  model::NodeRecord node;
  node.set_name("n1");
  node.set_cpus(48);
  node.set_memory_mib(1000);
  for (const auto& [type, count] :
       {std::pair("a100", 4), std::pair("a100_1g.5gb", 2), std::pair("other", 1)}) {
    model::Gres& gres = *node.add_gres();
    gres.set_name("gpu");
    gres.set_type(type);
    gres.set_count(static_cast<std::uint32_t>(count));
  }
  const std::vector<model::NodeRecord> nodes = {node};
  const std::vector<PartitionNodes> partitions = {{"main", {"n1"}}};
  const auto capacity = capacity_of(MachineLayout::build(nodes, partitions).value());
  EXPECT_DOUBLE_EQ(capacity.cores, 48);
  EXPECT_DOUBLE_EQ(capacity.rgu, 4 * 4.0 + 2 * 0.57);
}

// The published example: 13 GPU-years of an A100-40 are 52 RGU-years, and so many shares.
TEST(AllocationShares, GpuYearsOfOneModel) {
  const double rgu_years = 13 * accounts::rgu_of("a100").value();
  EXPECT_DOUBLE_EQ(rgu_years, 52);
  EXPECT_EQ(Shares({{"rrg_gpu", "root", 0, rgu_years}}, {0, 100}, {})["rrg_gpu"], 52'000u);
}

}  // namespace
}  // namespace minke::sched
