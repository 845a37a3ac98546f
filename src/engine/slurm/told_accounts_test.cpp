#include "engine/slurm/told_accounts.h"

#include <gtest/gtest.h>

#include "api/accounts.pb.h"
#include "engine/fetch_accounts.h"
#include "model/accounts.pb.h"

namespace minke::engine::slurm {
namespace {

// As a Slurm 26.05 said it, but for the numbers of root and normal.
const ToldAccounts kTold = {
    .associations = {"9|root||||1||normal|||||||||||||", "2|root|root|||1||normal|||||||||||||",
                     "7|phys|alice|||parent|high|high,normal||||||||7||1-00:00:00|||",
                     "6|phys|||root|3||normal|||||cpu=10,mem=4G,gres/gpu=2||||||||",
                     "1|optics|||phys|1||normal|||||||||||||", "8|optics|bob|gpu||1||normal|||||||||||||",
                     "12|lost|||gone|1||normal|||||||||||||", "broken"},
    .users = {"alice|None|elsewhere", "bob|Operator|optics", "carol|Administrator|"},
    .accounts = {"phys|science|ada,ben|Physics | and more", "optics|science||Optics",
                 "root|root||default root account", "other|o||of another cluster"},
    .qos = {"5|normal|0|00:00:00||1.000000||cluster|||||||||||||||||||Normal QOS default",
            "1|high|100|00:02:00|DenyOnLimit,OverPartQOS|2.500000|normal|requeue|||||||"
            "08:00:00||||gres/gpu=4||3||||cpu=1|Urgent"}};

const model::AssociationRecord& of(const api::AccountsReply& reply, const std::string& account,
                                   const std::string& user) {
  for (const model::AssociationRecord& one : reply.associations())
    if (one.account() == account && one.user() == user) return one;
  return model::AssociationRecord::default_instance();
}

TEST(ToldAccounts, BecomeATree) {
  api::AccountsReply reply;
  add_accounts(kTold, reply);
  std::string order;
  for (const model::AssociationRecord& one : reply.associations())
    order += one.account() + "/" + one.user() + " ";
  EXPECT_EQ(order, "root/ root/root phys/ phys/alice optics/ optics/bob ");
  EXPECT_EQ(of(reply, "root", "").id(), 1u);
  EXPECT_EQ(of(reply, "optics", "").id(), 9u);
  EXPECT_EQ(of(reply, "optics", "").parent_account(), "phys");
  EXPECT_EQ(of(reply, "optics", "bob").partition(), "gpu");
  const model::AssociationRecord& phys = of(reply, "phys", "");
  EXPECT_EQ(phys.shares(), 3u);
  ASSERT_EQ(phys.limits().grp_tres_size(), 3);
  EXPECT_EQ(phys.limits().grp_tres(1).name(), "mem");
  EXPECT_EQ(phys.limits().grp_tres(1).count(), 4096u);
  const model::AssociationRecord& alice = of(reply, "phys", "alice");
  EXPECT_EQ(alice.shares(), 0x7fffffffu);
  EXPECT_EQ(alice.limits().max_jobs(), 7u);
  EXPECT_FALSE(alice.limits().has_max_submit_jobs());
  EXPECT_EQ(alice.limits().max_wall(), 1440u);
  EXPECT_EQ(alice.default_qos(), "high");
  EXPECT_EQ(alice.qos_size(), 2);
}

TEST(ToldAccounts, KnowWhoIsWho) {
  api::AccountsReply reply;
  add_accounts(kTold, reply);
  ASSERT_EQ(reply.users_size(), 3);
  EXPECT_EQ(reply.users(0).name(), "alice");
  EXPECT_EQ(reply.users(0).default_account(), "phys");
  EXPECT_EQ(reply.users(1).admin_level(), model::ADMIN_OPERATOR);
  EXPECT_EQ(reply.users(2).name(), "root");
  ASSERT_EQ(reply.accounts_size(), 3);
  EXPECT_EQ(reply.accounts(1).description(), "Physics | and more");
  EXPECT_EQ(reply.accounts(1).coordinators_size(), 2);
  ASSERT_EQ(reply.qos_size(), 2);
  EXPECT_EQ(reply.qos(0).id(), 1u);
}

TEST(ToldAccounts, AreABookThatHolds) {
  api::AccountsReply reply;
  add_accounts(kTold, reply);
  const auto book = account_book_of(reply);
  ASSERT_TRUE(book.has_value()) << book.error().message;
  EXPECT_TRUE(book->configured());
  ASSERT_NE(book->qos("high"), nullptr);
  EXPECT_EQ(book->qos("high")->grace_seconds(), 120u);
  EXPECT_EQ(book->qos("high")->preempt_mode(), "REQUEUE");
  EXPECT_DOUBLE_EQ(book->qos("high")->usage_factor(), 2.5);
  EXPECT_EQ(book->qos("high")->limits().max_jobs(), 3u);
  EXPECT_EQ(book->qos("high")->limits().max_wall(), 480u);
}

TEST(ToldAccounts, HaveTheirUse) {
  api::AccountsReply reply;
  add_accounts(kTold, reply);
  add_shares({"root|||5000||cpu=7,mem=100,gres/gpu=1", "  phys|alice||4000|0.750000|cpu=7,mem=100,gres/gpu=1",
              " phys|||4500||", "nobody|||1||", "   optics|bob|gpu|500|1.000000|cpu=0", "broken"},
             reply);
  ASSERT_EQ(reply.usage_size(), reply.associations_size());
  ASSERT_EQ(reply.running_size(), reply.associations_size());
  ASSERT_EQ(reply.fair_share_size(), reply.associations_size());
  EXPECT_DOUBLE_EQ(reply.usage(0).raw(), 5000);
  EXPECT_DOUBLE_EQ(reply.usage(3).raw(), 4000);
  EXPECT_DOUBLE_EQ(reply.fair_share(3), 0.75);
  ASSERT_EQ(reply.running(3).tres_size(), 3);
  EXPECT_DOUBLE_EQ(reply.running(3).tres(0).seconds(), 420);
  EXPECT_DOUBLE_EQ(reply.usage(4).raw(), 0);  // not told of
  EXPECT_DOUBLE_EQ(reply.usage(5).raw(), 500);
}

}  // namespace
}  // namespace minke::engine::slurm
