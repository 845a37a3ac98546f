#include "accounts/transactions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "accounts/account_book.h"
#include "accounts/testing.h"
#include "model/accounts.pb.h"

namespace minke::accounts {
namespace {

using testing::account;
using ::testing::ElementsAre;
using testing::member;

// "ann" is in "lab".
class TransactionsTest : public ::testing::Test {
 protected:
  TransactionsTest() {
    AccountsChange change;
    change.accounts.emplace_back().set_name("lab");
    change.users.emplace_back().set_name("ann");
    change.users.back().set_default_account("lab");
    change.associations = {account("lab", "root"), member("ann", "lab")};
    EXPECT_TRUE(before_.apply(change));
  }

  // What `change` is called: "ACTION|WHERE|INFO".
  std::vector<std::string> said(const AccountsChange& change) {
    AccountBook after = before_;
    const Status applied = after.apply(change);
    EXPECT_TRUE(applied) << applied.error().message;
    std::vector<std::string> lines;
    for (const model::Transaction& one : transactions_between(before_, after))
      lines.push_back(one.action() + "|" + one.where() + "|" + one.info());
    return lines;
  }

  AccountBook before_;
  AccountsChange change_;
};

TEST_F(TransactionsTest, NothingChangedIsNoTransaction) {
  EXPECT_TRUE(transactions_between(before_, before_).empty());
}

TEST_F(TransactionsTest, OnlyWhatChangedIsTold) {
  change_.accounts.emplace_back().set_name("lab");
  change_.accounts.back().set_description("new");
  change_.associations.push_back(*before_.find("lab", "ann"));
  change_.associations.back().mutable_limits()->set_max_jobs(4);
  const std::string id = std::to_string(before_.find("lab", "ann")->id());
  EXPECT_THAT(said(change_), ElementsAre("Modify Accounts|(name='lab')|description='new'",
                                         "Modify Associations|(id_assoc=" + id + ")|max_jobs=4"));
}

TEST_F(TransactionsTest, AssociationsThatGoWithTheirUserAreNotNamed) {
  change_.removed_users.emplace_back("ann");
  EXPECT_THAT(said(change_), ElementsAre("Remove Users|name in('ann')|"));
}

TEST_F(TransactionsTest, CoordinatorsAreNamedWithTheirAccount) {
  change_.accounts.emplace_back().set_name("lab");
  change_.accounts.back().add_coordinators("ann");
  EXPECT_THAT(said(change_), ElementsAre("Add Account Coord|ann|lab"));
}

}  // namespace
}  // namespace minke::accounts
