// Accounts, people, associations and QOS as they should be in the new Slurm, as they are there, and how the
// two differ. One thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "grow/carry/commands.h"
#include "grow/carry/snapshot.h"

namespace minke::grow {

// In whose name Slurm keeps what people used who are removed from an account: it knows usage of users only.
// He has no shares, and nobody can be him.
inline constexpr char kRemovedPeople[] = "removed-people";

// Each text is plain (account_fields.h).
struct AccountsState {
  struct Account {
    std::string description, organization, parent;
    std::vector<std::string> coordinators;           // ascending
    std::vector<std::string> all_coordinators = {};  // of what should be: and those of accounts above
  };
  struct User {
    std::string default_account, admin_level;
    std::string default_wckey = {};
    std::set<std::string> wckeys = {};
  };
  using Place = std::tuple<std::string, std::string, std::string>;  // account, user, partition

  std::map<std::string, Account> accounts;
  std::map<std::string, User> users;
  std::map<Place, std::vector<std::string>> associations;  // their own fields, nothing inherited
  std::map<std::string, std::vector<std::string>> qos;
};

AccountsState wanted_accounts(const Snapshot& snapshot);
Result<AccountsState> accounts_there(const Commands& commands, const std::string& cluster);

// Plain values.
std::vector<Difference> compare(const AccountsState& wanted, const AccountsState& there);

std::string in_words(const AccountsState::Place& place);

}  // namespace minke::grow
