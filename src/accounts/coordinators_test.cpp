#include "accounts/coordinators.h"

#include <gtest/gtest.h>

#include "accounts/testing.h"
#include "model/accounts.pb.h"

namespace minke::accounts {
namespace {

using testing::account;
using testing::member;

// A professor coordinates "lab", which is below "faculty" and has "group" below it.
class Coordinators : public ::testing::Test {
 protected:
  Coordinators() {
    AccountsChange change;
    for (const char* name : {"faculty", "lab", "group", "other"})
      change.accounts.emplace_back().set_name(name);
    change.accounts[1].add_coordinators("prof");
    for (const char* name : {"prof", "ann", "dean"}) {
      change.users.emplace_back().set_name(name);
      change.users.back().set_default_account(std::string(name) == "dean" ? "other" : "lab");
    }
    change.associations = {account("faculty", "root"), account("lab", "faculty"), account("group", "lab"),
                           account("other", "root"),   member("prof", "lab"),     member("ann", "lab"),
                           member("dean", "other")};
    change.associations[1].mutable_limits()->set_max_jobs(10);
    change.associations[1].mutable_limits()->set_grp_jobs(50);
    EXPECT_TRUE(before_.apply(change));
  }

  bool may(const AccountsChange& change, const std::string& who = "prof") {
    AccountBook after = before_;
    const Status applied = after.apply(change);
    EXPECT_TRUE(applied) << applied.error().message;
    return check_coordinator(before_, after, who).has_value();
  }
  model::AssociationRecord changed(const std::string& of, const std::string& user = {}) {
    return *before_.find(of, user);
  }

  AccountBook before_;
  AccountsChange change_;
};

TEST_F(Coordinators, AreThoseOfTheAccountsAboveToo) {
  const auto words = [](const std::vector<Coordination>& list) {
    std::string text;
    for (const Coordination& one : list) text += one.name + (one.direct ? " " : "(below) ");
    return text;
  };
  EXPECT_EQ(words(coordinators_of(before_, "lab")), "prof ");
  EXPECT_EQ(words(coordinators_of(before_, "group")), "prof(below) ");
  EXPECT_EQ(words(coordinators_of(before_, "faculty")), "");
  EXPECT_EQ(words(coordinated_by(before_, "prof")), "group(below) lab ");
  EXPECT_EQ(words(coordinated_by(before_, "ann")), "");
}

TEST_F(Coordinators, AddAndRemoveUsersOfTheirAccountsAndThoseBelow) {
  EXPECT_TRUE(is_coordinator(before_, "prof"));
  EXPECT_FALSE(is_coordinator(before_, "ann"));
  change_.users.emplace_back().set_name("bob");
  change_.users.back().set_default_account("lab");
  change_.associations = {member("bob", "lab"), member("bob", "group"), member("dean", "lab")};
  EXPECT_TRUE(may(change_));
  EXPECT_FALSE(may(change_, "ann"));
  AccountsChange removal;
  removal.removed_associations = {before_.find("lab", "ann")->id()};
  EXPECT_TRUE(may(removal));
  removal.removed_associations = {before_.find("other", "dean")->id()};
  EXPECT_FALSE(may(removal));
  removal = {};
  removal.removed_users = {"ann"};
  EXPECT_TRUE(may(removal));
  removal.removed_users = {"dean"};
  EXPECT_FALSE(may(removal));
}

TEST_F(Coordinators, MakeAccountsBelowTheirs) {
  change_.accounts.emplace_back().set_name("team");
  change_.associations = {account("team", "group")};
  EXPECT_TRUE(may(change_));
  change_.associations = {account("team", "faculty")};
  EXPECT_FALSE(may(change_));
  AccountsChange removal;
  removal.removed_accounts = {"group"};
  EXPECT_TRUE(may(removal));
  removal.removed_accounts = {"lab"};
  EXPECT_FALSE(may(removal));
}

TEST_F(Coordinators, HaveNoRightsInOtherAccounts) {
  change_.associations = {member("ann", "other")};
  EXPECT_FALSE(may(change_));
  change_.associations = {changed("group")};
  change_.associations[0].set_parent_account("other");
  EXPECT_FALSE(may(change_));
  change_.associations = {changed("other")};
  change_.associations[0].set_parent_account("lab");
  EXPECT_FALSE(may(change_));
}

TEST_F(Coordinators, SetLimitsWithinThoseOfTheirAccounts) {
  change_.associations = {changed("lab", "ann")};
  change_.associations[0].mutable_limits()->set_max_jobs(10);
  change_.associations[0].mutable_limits()->set_grp_jobs(100);  // the account's holds all the same
  change_.associations[0].set_shares(5);
  EXPECT_TRUE(may(change_));
  change_.associations[0].mutable_limits()->set_max_jobs(11);
  EXPECT_FALSE(may(change_));
  change_.associations = {changed("lab")};
  change_.associations[0].mutable_limits()->set_max_jobs(5);
  EXPECT_FALSE(may(change_));
}

TEST_F(Coordinators, GiveNoMoreThanTheyHave) {
  change_.qos.emplace_back().set_name("fast");
  EXPECT_FALSE(may(change_));
  ASSERT_TRUE(before_.apply(change_));
  change_ = {};
  change_.associations = {changed("lab", "ann")};
  change_.associations[0].add_qos("fast");
  EXPECT_FALSE(may(change_));
  change_.associations = {changed("lab", "ann")};
  change_.associations[0].set_priority(7);
  EXPECT_FALSE(may(change_));
  change_.associations = {changed("group")};
  change_.associations[0].set_rgu_years(7);
  EXPECT_FALSE(may(change_));
  change_ = {};
  change_.users = {*before_.user("ann")};
  change_.users[0].set_admin_level(model::ADMIN_OPERATOR);
  EXPECT_FALSE(may(change_));
  change_.users[0] = *before_.user("dean");
  change_.users[0].set_default_account("lab");
  change_.associations = {member("dean", "lab")};
  EXPECT_FALSE(may(change_));
}

TEST_F(Coordinators, NameOthersForTheirAccountsAlone) {
  change_.accounts = {*before_.account("lab")};
  change_.accounts[0].add_coordinators("ann");
  EXPECT_TRUE(may(change_));
  change_.accounts[0].set_description("mine");
  EXPECT_FALSE(may(change_));
  change_.accounts = {*before_.account("faculty")};
  change_.accounts[0].add_coordinators("prof");
  EXPECT_FALSE(may(change_));
}

// What a coordinator adds is bounded, in number and in depth, however he goes about it.
TEST_F(Coordinators, DoNotMakeTheTreeWithoutEnd) {
  for (int i = 0; i < 6000; ++i) {
    const std::string name = "u" + std::to_string(i);
    change_.users.emplace_back().set_name(name);
    change_.users.back().set_default_account("lab");
    change_.associations.push_back(member(name, "lab"));
  }
  EXPECT_FALSE(may(change_));
  AccountsChange fewer = change_;
  fewer.users.resize(4000);
  fewer.associations.resize(4000);
  EXPECT_TRUE(may(fewer));
  // Where an operator has added more, he may still change and remove.
  ASSERT_TRUE(before_.apply(change_));
  change_ = {};
  change_.associations = {changed("lab", "ann")};
  change_.associations[0].set_shares(7);
  EXPECT_TRUE(may(change_));
  change_ = {};
  change_.removed_users = {"u7"};
  EXPECT_TRUE(may(change_));

  AccountsChange chain;
  const auto link = [&](const std::string& letter, int from, int to, std::string above) {
    for (int i = from; i < to; ++i) {
      chain.accounts.emplace_back().set_name(letter + std::to_string(i));
      chain.associations.push_back(account(letter + std::to_string(i), above));
      above = letter + std::to_string(i);
    }
  };
  link("a", 0, 40, "lab");
  EXPECT_FALSE(may(chain));
  change_ = {};
  for (int i = 0; i < 6000; ++i) change_.removed_users.push_back("u" + std::to_string(i));
  ASSERT_TRUE(before_.apply(change_));
  chain = {};
  link("a", 0, 20, "lab");
  link("b", 0, 20, "lab");
  ASSERT_TRUE(may(chain));
  ASSERT_TRUE(before_.apply(chain));
  change_ = {};
  change_.associations = {changed("b0")};
  change_.associations[0].set_parent_account("a19");
  EXPECT_FALSE(may(change_));
  change_.associations[0].set_parent_account("group");
  EXPECT_TRUE(may(change_));

  change_ = {};
  change_.associations = {changed("group")};
  for (int i = 0; i < 200; ++i) change_.associations[0].add_qos("normal");
  EXPECT_FALSE(may(change_));
}

}  // namespace
}  // namespace minke::accounts
