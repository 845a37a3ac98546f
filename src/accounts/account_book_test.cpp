#include "accounts/account_book.h"

#include <gtest/gtest.h>

#include "accounts/limit_ledger.h"
#include "accounts/testing.h"
#include "accounts/tres_weights.h"
#include "accounts/usage_book.h"
#include "model/accounts.pb.h"
#include "model/job_state.pb.h"

namespace minke::accounts {
namespace {

using testing::account;
using testing::member;

AccountsChange family() {
  AccountsChange change;
  for (const char* name : {"physics", "theory", "chem"}) change.accounts.emplace_back().set_name(name);
  for (const char* name : {"ada", "bob"}) change.users.emplace_back().set_name(name);
  change.associations = {account("physics", "root"), account("theory", "physics"), account("chem", "root"),
                         member("ada", "theory"),    member("bob", "chem"),        member("ada", "chem")};
  return change;
}

TEST(AccountBook, HasRootAndNormalFromTheBeginning) {
  const AccountBook book;
  EXPECT_FALSE(book.configured());
  EXPECT_EQ(book.in_tree_order(), std::vector<std::uint32_t>{kRootAssociation});
  EXPECT_EQ(book.allowed_qos(kRootAssociation), std::vector<std::string>{"normal"});
}

TEST(AccountBook, NamesMayHaveBlanksWithinThem) {
  const auto add = [](const char* name) {
    AccountBook book;
    AccountsChange change;
    change.accounts.emplace_back().set_name(name);
    change.associations = {account(name, "root")};
    return book.apply(change).has_value();
  };
  EXPECT_TRUE(add("two words"));
  for (const char* name : {"", " ", " two", "two ", "two\twords", "two|words", "Two words"})
    EXPECT_FALSE(add(name)) << name;
}

TEST(AccountBook, OtherClustersHaveTreesOfTheirOwn) {
  AccountBook book;
  ASSERT_TRUE(book.apply(family()));
  const auto order = book.in_tree_order();
  AccountsChange change;
  change.federations.emplace_back().set_name("fed");
  model::ClusterRecord& other = change.clusters.emplace_back();
  other.set_name("other");
  other.set_federation("fed");
  for (const char* name : {"physics", "chem"}) {
    change.associations.push_back(account(name, "root"));
    change.associations.back().set_cluster("other");
  }
  for (const char* in : {"physics", "chem"}) {
    change.associations.push_back(member("ada", in));
    change.associations.back().set_cluster("other");
  }
  ASSERT_TRUE(book.apply(change));
  EXPECT_EQ(book.in_tree_order(), order);
  ASSERT_NE(book.root_of("other"), 0u);
  EXPECT_EQ(book.in_tree_order(book.root_of("other")).size(), 5u);
  EXPECT_EQ(book.accounts_of("ada", "other"), (std::vector<std::string>{"chem", "physics"}));
  EXPECT_EQ(book.default_account("ada", "other"), "physics");
  EXPECT_EQ(book.default_account("ada"), "chem");
  EXPECT_EQ(book.find("physics", "ada"), nullptr);
  AccountsChange unknown;
  unknown.associations = {account("theory", "root")};
  unknown.associations[0].set_cluster("nosuch");
  EXPECT_FALSE(book.apply(unknown));
  AccountsChange gone;
  gone.removed_federations = {"fed"};
  gone.removed_clusters = {"other", ""};
  ASSERT_TRUE(book.apply(gone));
  EXPECT_EQ(book.clusters().size(), 1u);
  EXPECT_EQ(book.associations().size(), order.size());
}

TEST(AccountBook, SharesOfAResourceAreNoMoreThanAllOfIt) {
  AccountBook book;
  AccountsChange change;
  change.clusters.emplace_back().set_name("other");
  model::ResourceRecord& resource = change.resources.emplace_back();
  resource.set_name("lic");
  resource.set_server("host");
  for (const char* cluster : {"", "other"}) {
    auto& share = *resource.add_shares();
    share.set_cluster(cluster);
    share.set_percent(50);
  }
  ASSERT_TRUE(book.apply(change));
  EXPECT_TRUE(book.resources().contains("lic@host"));
  change.resources[0].mutable_shares(0)->set_percent(51);
  EXPECT_FALSE(book.apply(change));
  AccountsChange gone;
  gone.removed_clusters = {"other"};
  ASSERT_TRUE(book.apply(gone));
  EXPECT_EQ(book.resources().at("lic@host").shares_size(), 1);
}

TEST(AccountBook, BuildsTheTreeAndRefusesWhatBreaksIt) {
  AccountBook book;
  ASSERT_TRUE(book.apply(family()));
  EXPECT_TRUE(book.configured());
  EXPECT_EQ(book.accounts_of("ada"), (std::vector<std::string>{"chem", "theory"}));
  EXPECT_EQ(book.user("ada")->default_account(), "chem");
  const auto version = book.version();
  AccountsChange orphan;
  orphan.associations = {member("nobody", "chem")};
  EXPECT_FALSE(book.apply(orphan));
  AccountsChange circle;
  circle.associations = {*book.find("physics")};
  circle.associations[0].set_parent_account("theory");
  EXPECT_FALSE(book.apply(circle));
  AccountsChange twice;
  twice.associations = {member("ada", "chem")};
  EXPECT_FALSE(book.apply(twice));
  AccountsChange upper;
  upper.accounts.emplace_back().set_name("Upper");
  EXPECT_FALSE(book.apply(upper));
  EXPECT_EQ(book.version(), version);
  AccountsChange removal;
  removal.removed_accounts = {"physics"};
  ASSERT_TRUE(book.apply(removal));
  EXPECT_EQ(book.find("theory"), nullptr);
  EXPECT_EQ(book.accounts_of("ada"), std::vector<std::string>{"chem"});
}

TEST(AccountBook, InheritsLimitsAndQos) {
  AccountBook book;
  AccountsChange change = family();
  change.qos.emplace_back().set_name("high");
  change.associations[0].mutable_limits()->set_max_jobs(7);
  change.associations[0].add_qos("+high");
  change.associations[1].mutable_limits()->set_max_wall(60);
  ASSERT_TRUE(book.apply(change));
  const std::uint32_t ada = book.find("theory", "ada")->id();
  EXPECT_EQ(book.effective_limits(ada).max_jobs(), 7u);
  EXPECT_EQ(book.effective_limits(ada).max_wall(), 60u);
  EXPECT_EQ(book.allowed_qos(ada), (std::vector<std::string>{"high", "normal"}));
  EXPECT_EQ(book.allowed_qos(book.find("chem", "bob")->id()), std::vector<std::string>{"normal"});
}

TEST(LimitLedger, CountsGroupsWithAllBelow) {
  AccountBook book;
  AccountsChange change = family();
  model::Tres& cpus = *change.associations[0].mutable_limits()->add_grp_tres();
  cpus.set_name("cpu");
  cpus.set_count(4);
  change.associations[2].mutable_limits()->set_max_submit_jobs(3);
  ASSERT_TRUE(book.apply(change));
  LimitLedger ledger(book);
  const Claim ada{book.find("theory", "ada")->id(), kNormalQos, 1, {{"cpu", 3}}, 10};
  EXPECT_TRUE(ledger.limited(ada));
  EXPECT_FALSE(ledger.start_problem(ada, {}, 0));
  ledger.submitted(ada, 1);
  ledger.started(5, ada, 0);
  EXPECT_EQ(ledger.start_problem(ada, {}, 0), model::ASSOC_GRP_CPU);
  EXPECT_EQ(ledger.use(kRootAssociation).running, 1u);
  EXPECT_DOUBLE_EQ(ledger.promised(kRootAssociation, 60).tres.at("cpu"), 3 * 540);
  ledger.ended(5);
  ledger.withdrawn(ada, 1);
  EXPECT_FALSE(ledger.start_problem(ada, {}, 0));
  EXPECT_FALSE(ledger.has_active_jobs(kRootAssociation));
  const Claim bob{book.find("chem", "bob")->id(), kNormalQos, 2, {{"cpu", 1}}, 10};
  EXPECT_FALSE(ledger.submission_problem(bob, 3));
  EXPECT_EQ(ledger.submission_problem(bob, 4), model::ASSOC_MAX_SUBMIT_JOBS);
}

TEST(LimitLedger, MostNodesOfAJob) {
  AccountBook book;
  AccountsChange change = family();
  const auto limit = [](auto* list, std::uint64_t count) {
    model::Tres& tres = *list->Add();
    tres.set_name("node");
    tres.set_count(count);
  };
  limit(change.associations[0].mutable_limits()->mutable_grp_tres(), 7);  // physics, with theory below
  limit(change.associations[1].mutable_limits()->mutable_max_tres(), 9);
  model::QosRecord& qos = change.qos.emplace_back();
  qos.set_name("narrow");
  limit(qos.mutable_limits()->mutable_max_tres(), 3);
  ASSERT_TRUE(book.apply(change));
  const LimitLedger ledger(book);
  Claim ada{book.find("theory", "ada")->id(), kNormalQos, 1, {{"cpu", 1}}, 10};
  EXPECT_EQ(ledger.max_nodes(ada), 7u);
  ada.qos = book.qos("narrow")->id();
  EXPECT_EQ(ledger.max_nodes(ada), 3u);
  EXPECT_EQ(ledger.max_nodes({book.find("chem", "bob")->id(), kNormalQos, 2, {}, 10}), 0xffffffffu);
}

TEST(LimitLedger, LongestTimeLimit) {
  AccountBook book;
  AccountsChange change = family();
  const auto limit = [](auto* list, const char* name, std::uint64_t count) {
    model::Tres& tres = *list->Add();
    tres.set_name(name);
    tres.set_count(count);
  };
  change.associations[1].mutable_limits()->set_max_wall(90);  // theory
  limit(change.associations[1].mutable_limits()->mutable_max_tres_mins(), "cpu", 100);
  model::QosRecord& qos = change.qos.emplace_back();
  qos.set_name("short");
  limit(qos.mutable_limits()->mutable_max_tres_mins(), "cpu", 240);
  ASSERT_TRUE(book.apply(change));
  const LimitLedger ledger(book);
  Claim ada{book.find("theory", "ada")->id(), kNormalQos, 1, {{"cpu", 1}}};
  EXPECT_EQ(ledger.longest_minutes(ada), 90u);
  ada.tres = {{"cpu", 4}};
  EXPECT_EQ(ledger.longest_minutes(ada), 25u);
  ada.qos = book.qos("short")->id();
  EXPECT_EQ(ledger.longest_minutes(ada), 60u);
  ada.tres = {{"cpu", 241}};  // not even a minute of it is allowed
  EXPECT_EQ(ledger.longest_minutes(ada), 90u);
  EXPECT_EQ(ledger.longest_minutes({book.find("chem", "bob")->id(), kNormalQos, 2, {{"cpu", 1}}}),
            0xffffffffu);
}

TEST(LimitLedger, QosLimitsComeInsteadOfTheAssociations) {
  AccountBook book;
  AccountsChange change = family();
  change.associations[2].mutable_limits()->set_max_wall(10);
  model::QosRecord& qos = change.qos.emplace_back();
  qos.set_name("long");
  qos.mutable_limits()->set_max_wall(100);
  ASSERT_TRUE(book.apply(change));
  const LimitLedger ledger(book);
  Claim bob{book.find("chem", "bob")->id(), kNormalQos, 2, {{"cpu", 1}}, 50};
  EXPECT_EQ(ledger.start_problem(bob, {}, 0), model::ASSOC_MAX_WALL_PER_JOB);
  bob.qos = book.qos("long")->id();
  EXPECT_FALSE(ledger.start_problem(bob, {}, 0));
  bob.limit_minutes = 101;
  EXPECT_EQ(ledger.start_problem(bob, {}, 0), model::QOS_MAX_WALL_PER_JOB);
}

TEST(LimitLedger, ThePartitionsQosDecidesBeforeTheJobs) {
  AccountBook book;
  AccountsChange change = family();
  model::QosRecord& partition = change.qos.emplace_back();
  partition.set_name("partition");
  partition.mutable_limits()->set_max_jobs(1);
  partition.mutable_limits()->set_grp_submit_jobs(3);
  model::QosRecord& wide = change.qos.emplace_back();
  wide.set_name("wide");
  wide.mutable_limits()->set_max_jobs(2);
  wide.mutable_limits()->set_max_wall(60);
  model::QosRecord& over = change.qos.emplace_back(wide);
  over.set_name("over");
  over.add_flags("OverPartQOS");
  ASSERT_TRUE(book.apply(change));
  LimitLedger ledger(book);
  Claim bob{book.find("chem", "bob")->id(), book.qos("wide")->id(), 2, {{"cpu", 1}}, 50};
  Claim there = bob;
  there.partition_qos = book.qos("partition")->id();
  EXPECT_TRUE(ledger.limited(there));
  ledger.submitted(there, 1);
  ledger.started(1, there, 0);
  EXPECT_EQ(ledger.start_problem(there, {}, 0), model::QOS_MAX_JOBS_PER_USER);
  EXPECT_FALSE(ledger.start_problem(bob, {}, 0));  // in another partition
  EXPECT_EQ(ledger.submission_problem(there, 3), model::QOS_GRP_SUBMIT_JOBS);
  EXPECT_FALSE(ledger.submission_problem(bob, 3));
  EXPECT_EQ(ledger.qos_use(there.partition_qos).running, 1u);
  there.qos = book.qos("over")->id();
  EXPECT_FALSE(ledger.start_problem(there, {}, 0));
  there.limit_minutes = 61;  // one of them limits what the other does not
  EXPECT_EQ(ledger.start_problem(there, {}, 0), model::QOS_MAX_WALL_PER_JOB);
  ledger.ended(1);
  there.limit_minutes = 50;
  there.qos = book.qos("wide")->id();
  EXPECT_FALSE(ledger.start_problem(there, {}, 0));
}

TEST(UsageBook, HalfIsLeftAfterAHalfLife) {
  AccountBook book;
  ASSERT_TRUE(book.apply(family()));
  const std::uint32_t ada = book.find("theory", "ada")->id(), physics = book.find("physics")->id();
  UsageBook usage(1000);
  accounts::Run run{ada, 0, 2, {{"cpu", 2}}, 0, 10, 1};
  usage.add(run);
  const double at_end = usage.totals(book, {}, 10).at(ada).raw;
  EXPECT_NEAR(at_end, 20, 0.1);
  EXPECT_NEAR(usage.totals(book, {}, 1010).at(physics).raw, at_end / 2, 1e-9);
  // A run counts the same, whether it is read while it goes on or after its end.
  UsageBook none(1000);
  EXPECT_DOUBLE_EQ(none.totals(book, {run}, 10).at(ada).raw, at_end);
  usage.merge(ada, physics);
  EXPECT_NEAR(usage.totals(book, {}, 1010).at(physics).raw, at_end / 2, 1e-9);
}

TEST(TresWeights, BillsTheWorkedExamplesOfRgu) {
  const auto bill = [](const char* weights, TresCounts counts) {
    return billing_of(counts, *parse_tres_weights(weights));
  };
  const auto gib = [](double count) { return static_cast<std::uint64_t>(count * 1024); };
  EXPECT_NEAR(bill("rgu:narval", {{"cpu", 12}, {"mem", gib(124)}, {"gres/gpu", 1}, {"gres/gpu:a100", 1}}),
              4.0, 0.01);
  EXPECT_NEAR(bill("rgu:narval", {{"cpu", 16}, {"mem", gib(124)}, {"gres/gpu:a100", 1}}), 5.33, 0.01);
  EXPECT_NEAR(bill("rgu:rorqual", {{"cpu", 16}, {"mem", gib(248)}, {"gres/gpu:h100", 1}}), 24.3, 0.02);
  EXPECT_NEAR(bill("rgu:nibi", {{"cpu", 2}, {"mem", gib(31)}, {"gres/gpu:h100_1g.10gb", 1}}), 1.74, 0.01);
  // The bundles of Nibi's larger instances are worth exactly their RGU.
  EXPECT_NEAR(bill("rgu:nibi", {{"cpu", 4}, {"mem", gib(71.4)}, {"gres/gpu:h100_2g.20gb", 1}}), 3.48, 0.01);
  EXPECT_NEAR(bill("rgu:nibi", {{"cpu", 7}, {"mem", gib(125)}, {"gres/gpu:h100_3g.40gb", 1}}), 6.1, 0.01);
}

TEST(TresWeights, ReadsSlurmsText) {
  const auto weights = parse_tres_weights("CPU=1.0,Mem=0.25G,GRES/gpu=2");
  ASSERT_TRUE(weights);
  EXPECT_DOUBLE_EQ(billing_of({{"cpu", 2}, {"mem", 4096}, {"gres/gpu", 1}}, *weights), 5);
  EXPECT_DOUBLE_EQ(billing_of({{"cpu", 3}}, {}), 3);
  // Slurm takes weights below 0, too, but no job earns a credit.
  EXPECT_DOUBLE_EQ(billing_of({{"cpu", 3}, {"node", 1}}, *parse_tres_weights("CPU=1,node=-2")), 1);
  EXPECT_DOUBLE_EQ(billing_of({{"cpu", 3}, {"node", 2}}, *parse_tres_weights("CPU=1,node=-2")), 0);
  for (const char* wrong :
       {"CPU", "CPU=", "=1", "CPU=x", "CPU=1G", "Mem=1X", "bogus=1", "CPU=inf", "rgu:mars"})
    EXPECT_FALSE(parse_tres_weights(wrong)) << wrong;
}

}  // namespace
}  // namespace minke::accounts
