// Fair Tree, compared with a direct implementation, and a worked example whose ranks were computed
// separately with exact fractions.
#include "accounts/fair_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "sched/priority.h"
#include "sched/test_cluster.h"

namespace minke::sched {

using namespace accounts;
namespace {

struct Row {
  std::string name;
  std::string parent;
  bool is_user;
  std::uint32_t shares;
  double usage;
  int rank;  // of 25 users
};

// Four levels. physics and biology tie, and so do accounts in both (def-p1, def-p2 and def-b2 are walked as
// one), users of different accounts (pdirect, bdirect), and a user and an account (u16 and p1-lab, u22 and
// a1-lab).
const std::vector<Row> kExample = {
    {"physics", "", false, 40, 0, 0},
    {"biology", "", false, 40, 0, 0},
    {"ai", "", false, 20, 0, 0},
    {"guest", "", true, 20, 0, 25},
    {"def-p1", "physics", false, 1, 0, 0},
    {"def-p2", "physics", false, 1, 0, 0},
    {"rrg-p1", "physics", false, 2, 0, 0},
    {"pdirect", "physics", true, 1, 100, 19},
    {"def-b1", "biology", false, 3, 0, 0},
    {"def-b2", "biology", false, 1, 0, 0},
    {"bdirect", "biology", true, 1, 100, 19},
    {"aip-a1", "ai", false, 1, 0, 0},
    {"aip-a2", "ai", false, 1, 0, 0},
    {"p1-lab", "def-p1", false, 1, 0, 0},
    {"p1-field", "def-p1", false, 1, 0, 0},
    {"u1", "p1-lab", true, 1, 60, 5},
    {"u2", "p1-lab", true, 1, 60, 5},
    {"u3", "p1-lab", true, 1, 30, 6},
    {"u4", "p1-field", true, 1, 0, 8},
    {"u5", "p1-field", true, 1, 150, 3},
    {"u6", "def-p2", true, 1, 150, 2},
    {"u7", "def-p2", true, 2, 150, 9},
    {"u8", "rrg-p1", true, 1, 0, 17},
    {"u9", "rrg-p1", true, 1, 0, 17},
    {"u10", "rrg-p1", true, 1, 300, 15},
    {"b1-lab", "def-b1", false, 2, 0, 0},
    {"b1-field", "def-b1", false, 1, 0, 0},
    {"u11", "b1-lab", true, 1, 200, 11},
    {"u12", "b1-lab", true, 1, 200, 11},
    {"u13", "b1-lab", true, 1, 0, 14},
    {"u14", "b1-field", true, 1, 100, 13},
    {"u15", "b1-field", true, 1, 100, 13},
    {"u16", "def-b2", true, 1, 300, 8},
    {"u17", "def-b2", true, 0, 0, 1},
    {"a1-lab", "aip-a1", false, 1, 0, 0},
    {"a1-field", "aip-a1", false, 1, 0, 0},
    {"u18", "a1-lab", true, 1, 5, 24},
    {"u19", "a1-lab", true, 1, 10, 21},
    {"u20", "a1-field", true, 1, 5, 24},
    {"u21", "a1-field", true, 1, 10, 21},
    {"u22", "aip-a2", true, 1, 30, 24},
};

TEST(FairTree, WorkedExample) {
  std::map<std::string, std::uint32_t> index;
  std::vector<Association> associations;
  for (const Row& row : kExample) {
    index[row.name] = static_cast<std::uint32_t>(associations.size());
    const std::uint32_t parent = row.parent.empty() ? Association::kRoot : index.at(row.parent);
    associations.push_back({parent, row.is_user, row.shares, row.usage});
  }
  const auto result = fair_tree(associations);
  for (const Row& row : kExample)
    EXPECT_DOUBLE_EQ(result[index[row.name]].factor, row.rank / 25.0) << row.name;
  EXPECT_DOUBLE_EQ(result[index["physics"]].norm_shares, 40 / 120.0);
  EXPECT_DOUBLE_EQ(result[index["physics"]].usage, 1000);
  EXPECT_DOUBLE_EQ(result[index["def-p1"]].effective_usage, 0.3);
  EXPECT_DOUBLE_EQ(result[index["def-p1"]].level_fs, 0.2 / 0.3);
  EXPECT_TRUE(std::isinf(result[index["guest"]].level_fs));
  EXPECT_EQ(result[index["u17"]].level_fs, 0);
}

// As Slurm's sshare shows it: below the top are a (10 shares), b (its parent's) and c (30); what is in b
// stands beside them.
TEST(FairTree, SharesOfTheParent) {
  constexpr std::uint32_t kTop = Association::kRoot;
  const std::vector<Association> associations = {
      {kTop, false, 10, 0},        // 0: a
      {0, true, 1, 40},            // 1: in a
      {0, true, 1, 0, true},       // 2: in a, as a
      {0, true, 5, 0},             // 3: in a
      {kTop, false, 1, 0, true},   // 4: b, as the top
      {kTop, true, 3, 0},          // 5: in b
      {kTop, true, 1, 40},         // 6: in b
      {kTop, true, 1, 100, true},  // 7: in b, as b
      {kTop, false, 30, 80},       // 8: c
      {kTop, true, 1, 0},          // 9
  };
  const auto result = fair_tree(associations);
  EXPECT_DOUBLE_EQ(result[0].norm_shares, 10 / 45.0);
  EXPECT_DOUBLE_EQ(result[2].norm_shares, result[0].norm_shares);
  EXPECT_DOUBLE_EQ(result[3].norm_shares, 5 / 6.0);
  EXPECT_DOUBLE_EQ(result[6].norm_shares, 1 / 45.0);
  // First those without use and who have their parent's shares, whatever they used; then c, a and the user of
  // b.
  for (const std::size_t first : {5, 7, 9}) EXPECT_DOUBLE_EQ(result[first].factor, 1) << first;
  for (const std::size_t in_a : {2, 3}) EXPECT_DOUBLE_EQ(result[in_a].factor, 4 / 7.0) << in_a;
  EXPECT_DOUBLE_EQ(result[1].factor, 2 / 7.0);
  EXPECT_DOUBLE_EQ(result[6].factor, 1 / 7.0);
}

// Users in the order of their paths from the top, compared level by level.
std::vector<double> slow_factors(const std::vector<Association>& associations,
                                 const std::vector<FairShare>& values) {
  using Path = std::vector<std::pair<double, bool>>;  // LevelFS, whether an account
  std::vector<std::pair<Path, std::uint32_t>> users;
  for (std::uint32_t i = 0; i < associations.size(); ++i) {
    if (!associations[i].is_user) continue;
    Path path;
    for (std::uint32_t at = i; at != Association::kRoot; at = associations[at].parent)
      path.insert(path.begin(), {-values[at].level_fs, !associations[at].is_user});
    users.emplace_back(path, i);
  }
  std::sort(users.begin(), users.end());
  std::vector<double> factors(associations.size());
  for (std::size_t n = 0; n < users.size(); ++n) {
    const Path& path = users[n].first;
    bool tied = n > 0;
    for (std::size_t level = 0; tied && level < std::min(path.size(), users[n - 1].first.size()); ++level)
      tied = path[level].first == users[n - 1].first[level].first;
    factors[users[n].second] =
        tied ? factors[users[n - 1].second]
             : static_cast<double>(users.size() - n) / static_cast<double>(users.size());
  }
  return factors;
}

TEST(FairTree, IsTheSameAsComparingPaths) {
  std::size_t ties = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    testing::Random random(seed);
    std::vector<Association> associations;
    std::vector<std::uint32_t> accounts{Association::kRoot};
    for (std::uint32_t i = 0, count = random.between(1, 40); i < count; ++i) {
      Association one;
      one.parent = accounts[random.up_to(static_cast<std::uint32_t>(accounts.size() - 1))];
      one.is_user = random.one_in(2);
      one.shares = random.up_to(2);
      one.usage = one.is_user || random.one_in(8) ? 100 * random.up_to(3) : 0;
      if (!one.is_user) accounts.push_back(i);
      associations.push_back(one);
    }
    // An account that nobody is in breaks ties like any other sibling, which paths of users do not show.
    for (const std::uint32_t account : accounts) {
      if (account != Association::kRoot) associations.push_back({account, true, 1, 100.0 * random.up_to(2)});
    }
    const auto result = fair_tree(associations);
    const auto factors = slow_factors(associations, result);
    std::map<double, int> times;
    for (std::size_t i = 0; i < associations.size(); ++i) {
      ASSERT_EQ(result[i].factor, factors[i]);
      if (associations[i].is_user) ties += times[factors[i]]++ > 0;
    }
    // The figures themselves, each from its siblings.
    for (std::size_t i = 0; i < associations.size(); ++i) {
      double shares = 0;
      double usage =
          associations[i].parent == Association::kRoot ? 0 : associations[associations[i].parent].usage;
      for (std::size_t j = 0; j < associations.size(); ++j) {
        if (associations[j].parent != associations[i].parent) continue;
        shares += associations[j].shares;
        usage += result[j].usage;
      }
      ASSERT_DOUBLE_EQ(result[i].norm_shares, shares > 0 ? associations[i].shares / shares : 0);
      ASSERT_NEAR(result[i].effective_usage, usage > 0 ? result[i].usage / usage : 0, 1e-12);
    }
  }
  EXPECT_GT(ties, 1000u);
}

TEST(FairTree, UsageDecaysByHalvesAndNobodyIsNobody) {
  EXPECT_DOUBLE_EQ(decayed_usage(1000, 7 * 86400, 7 * 86400), 500);
  EXPECT_DOUBLE_EQ(decayed_usage(1000, 14 * 86400, 7 * 86400), 250);
  EXPECT_DOUBLE_EQ(decayed_usage(1000, 100, 0), 1000);
  EXPECT_TRUE(fair_tree({}).empty());
}

TEST(Priority, SumOfWeightedFactors) {
  PriorityWeights weights{.age = 1000,
                          .association = 0,
                          .fair_share = 10000,
                          .job_size = 500,
                          .partition = 200,
                          .qos = 100,
                          .max_age = 7 * 86400,
                          .favor_small = false};
  PriorityFactors factors;
  factors.eligible_seconds = 86400;
  factors.fair_share = 0.5;
  factors.nodes = 2;
  factors.all_nodes = 10;
  factors.cpus = 64;
  factors.all_cpus = 640;
  factors.partition = 1;
  factors.qos = 0.25;
  factors.tres = {{3000, 4, 40}, {100, 5, 0}};
  const PriorityParts parts = priority_parts(weights, factors);
  EXPECT_NEAR(parts.age, 1000 / 7.0, 1e-9);
  EXPECT_DOUBLE_EQ(parts.fair_share, 5000);
  EXPECT_DOUBLE_EQ(parts.job_size, 500 * 0.15);
  EXPECT_DOUBLE_EQ(parts.tres, 300);
  EXPECT_EQ(parts.total(), 142u + 5000 + 75 + 200 + 25 + 300);
  factors.eligible_seconds = 30 * 86400;  // no more than max_age
  EXPECT_DOUBLE_EQ(priority_parts(weights, factors).age, 1000);
  factors.eligible_seconds = -5;
  EXPECT_DOUBLE_EQ(priority_parts(weights, factors).age, 0);
  weights.favor_small = true;
  EXPECT_DOUBLE_EQ(priority_parts(weights, factors).job_size, 500 * 0.85);
}

TEST(Priority, NeverHeldByASumAndNeverBeyondTheRange) {
  PriorityFactors factors;
  factors.nice = 100000;
  EXPECT_EQ(priority_parts({}, factors).total(), 1u);
  factors.nice = -10;
  EXPECT_EQ(priority_parts({}, factors).total(), 10u);
  factors.site = 9000000000;
  EXPECT_EQ(priority_parts({}, factors).total(), 4294967295u);
}

}  // namespace
}  // namespace minke::sched
