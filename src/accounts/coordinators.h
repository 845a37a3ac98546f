// What a coordinator may change: as in Slurm he manages his accounts, and those below them. He adds and
// removes users and sub-accounts there, and sets their shares and limits within those that his accounts have.
// Of the accounts themselves that an operator gave him he changes nothing but who else coordinates them.
//
// Pure. The daemon asks it of whoever is no operator.
#pragma once

#include <string>
#include <vector>

#include "accounts/account_book.h"
#include "base/result.h"

namespace minke::accounts {

// Whether the user coordinates any account at all.
bool is_coordinator(const AccountBook& book, const std::string& user);

// A user and an account that he coordinates, by name; which of the two, the list says.
struct Coordination {
  std::string name;
  bool direct = true;  // false: he coordinates an account above it
};
// The account's coordinators: its own first, then those of each account above it.
std::vector<Coordination> coordinators_of(const AccountBook& book, const std::string& account);
// The user's accounts, by name.
std::vector<Coordination> coordinated_by(const AccountBook& book, const std::string& user);

// `after`: the book as he wants it. An error says what is not his to change.
Status check_coordinator(const AccountBook& before, const AccountBook& after, const std::string& user);

}  // namespace minke::accounts
