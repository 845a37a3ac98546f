// Associations for tests of accounts: an account below another, and a member of one.
#pragma once

#include <string>

#include "model/accounts.pb.h"

namespace minke::accounts::testing {

inline model::AssociationRecord account(const std::string& name, const std::string& parent) {
  model::AssociationRecord record;
  record.set_account(name);
  record.set_parent_account(parent);
  record.set_shares(1);
  return record;
}
inline model::AssociationRecord member(const std::string& user, const std::string& of) {
  model::AssociationRecord record = account(of, "");
  record.set_user(user);
  return record;
}

}  // namespace minke::accounts::testing
