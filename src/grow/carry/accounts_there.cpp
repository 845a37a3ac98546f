#include "grow/carry/accounts_there.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "accounts/account_book.h"
#include "grow/carry/account_fields.h"
#include "text/number.h"

namespace minke::grow {
namespace {

std::vector<std::string> sorted_list(std::string_view text) {
  std::vector<std::string> items;
  for (const std::string_view item : text::split(text, ',')) {
    if (!item.empty()) items.emplace_back(item);
  }
  std::sort(items.begin(), items.end());
  return items;
}

std::string columns_of(std::span<const AccountField> fields) {
  std::string out;
  for (const AccountField& field : fields) out += "," + std::string(field.column);
  return out;
}

// The cells behind the first `from`, plain.
std::vector<std::string> plain_cells(std::span<const AccountField> fields,
                                     const std::vector<std::string>& row, size_t from) {
  std::vector<std::string> values;
  for (size_t i = 0; i < fields.size(); ++i) values.push_back(plain_value(fields[i], row[from + i]));
  return values;
}

std::string admin_word(model::AdminLevel level) {
  return level == model::ADMIN_OPERATOR        ? "Operator"
         : level == model::ADMIN_ADMINISTRATOR ? "Administrator"
                                               : "None";
}

Status read_accounts(const Commands& commands, AccountsState& state) {
  const auto rows = commands.table({"sacctmgr", "-nP", "show", "account", "WithCoordinator",
                                    "format=Account,Coordinators,Organization,Description"},
                                   4);
  if (!rows) return failure(rows.error());
  for (const auto& row : *rows)
    state.accounts[row[0]] = {
        .description = row[3], .organization = row[2], .parent = {}, .coordinators = sorted_list(row[1])};
  return {};
}

Status read_users(const Commands& commands, AccountsState& state) {
  const auto rows = commands.table(
      {"sacctmgr", "-nP", "show", "user", "format=User,DefaultAccount,AdminLevel,DefaultWCKey"}, 4);
  if (!rows) return failure(rows.error());
  for (const auto& row : *rows)
    state.users[row[0]] = {.default_account = row[1], .admin_level = row[2], .default_wckey = row[3]};
  return {};
}

Status read_wckeys(const Commands& commands, const std::string& cluster, AccountsState& state) {
  const auto rows =
      commands.table({"sacctmgr", "-nP", "show", "wckey", "cluster=" + cluster, "format=User,WCKey"}, 2);
  if (!rows) return failure(rows.error());
  for (const auto& row : *rows) {
    const bool starred = row[1].starts_with('*');  // nobody has chosen it
    if (const auto user = state.users.find(row[0]); user != state.users.end())
      user->second.wckeys.insert(starred ? row[1].substr(1) : row[1]);
  }
  return {};
}

Status read_associations(const Commands& commands, const std::string& cluster, AccountsState& state) {
  const auto fields = association_fields();
  const auto rows =
      commands.table({"sacctmgr", "-nP", "show", "assoc", "WOPLimits", "WithRawQOSLevel",
                      "cluster=" + cluster, "format=Account,User,Partition,ParentName" + columns_of(fields)},
                     4 + fields.size());
  if (!rows) return failure(rows.error());
  for (const auto& row : *rows) {
    state.associations[{row[0], row[1], row[2]}] = plain_cells(fields, row, 4);
    if (const auto account = state.accounts.find(row[0]); row[1].empty() && account != state.accounts.end())
      account->second.parent = row[3];
  }
  return {};
}

Status read_qos(const Commands& commands, AccountsState& state) {
  const auto fields = qos_fields();
  const auto rows = commands.table({"sacctmgr", "-nP", "show", "qos", "format=Name" + columns_of(fields)},
                                   1 + fields.size());
  if (!rows) return failure(rows.error());
  for (const auto& row : *rows) state.qos[row[0]] = plain_cells(fields, row, 1);
  return {};
}

class Differences {
 public:
  void field(const std::string& what, const std::string& name, const std::string& before,
             const std::string& now) {
    if (before != now) found_.push_back({what, name, before, now});
  }
  void missing(const std::string& what) { found_.push_back({what, "it", "there", "not there"}); }
  void more(const std::string& what) { found_.push_back({what, "it", "not there", "there"}); }
  void fields(const std::string& what, std::span<const AccountField> names,
              const std::vector<std::string>& before, const std::vector<std::string>& now) {
    for (size_t i = 0; i < names.size(); ++i) field(what, names[i].column, before[i], now[i]);
  }
  std::vector<Difference> take() { return std::move(found_); }

 private:
  std::vector<Difference> found_;
};

}  // namespace

AccountsState wanted_accounts(const Snapshot& snapshot) {
  AccountsState state;
  for (const model::AccountRecord& one : snapshot.accounts) {
    std::vector<std::string> coordinators(one.coordinators().begin(), one.coordinators().end());
    std::sort(coordinators.begin(), coordinators.end());
    state.accounts[one.name()] = {.description = one.description(),
                                  .organization = one.organization(),
                                  .parent = {},
                                  .coordinators = std::move(coordinators)};
  }
  for (const model::UserRecord& one : snapshot.users)
    state.users[one.name()] = {.default_account = one.default_account(),
                               .admin_level = admin_word(one.admin_level()),
                               .default_wckey = one.default_wckey(),
                               .wckeys = {one.wckeys().begin(), one.wckeys().end()}};
  for (const model::AssociationRecord& one : snapshot.associations) {
    state.associations[{one.account(), one.user(), one.partition()}] = wanted_fields(one);
    if (one.user().empty()) state.accounts[one.account()].parent = one.parent_account();
  }
  // Who coordinates an account coordinates what is below it.
  for (auto& [name, account] : state.accounts) {
    std::set<std::string> all(account.coordinators.begin(), account.coordinators.end());
    std::string above = account.parent;
    for (size_t depth = 0; !above.empty() && depth < state.accounts.size(); ++depth) {
      const auto& list = state.accounts[above].coordinators;
      all.insert(list.begin(), list.end());
      above = state.accounts[above].parent;
    }
    account.all_coordinators.assign(all.begin(), all.end());
  }
  for (const model::QosRecord& one : snapshot.qos) state.qos[one.name()] = wanted_fields(one);
  return state;
}

Result<AccountsState> accounts_there(const Commands& commands, const std::string& cluster) {
  AccountsState state;
  for (const Status& read :
       {read_accounts(commands, state), read_users(commands, state), read_wckeys(commands, cluster, state),
        read_associations(commands, cluster, state), read_qos(commands, state)}) {
    if (!read) return failure(read.error());
  }
  return state;
}

std::string in_words(const AccountsState::Place& place) {
  const auto& [account, user, partition] = place;
  if (user.empty()) return "account " + account;
  return "user " + user + " in " + account + (partition.empty() ? "" : " on partition " + partition);
}

std::vector<Difference> compare(const AccountsState& wanted, const AccountsState& there) {
  Differences found;
  for (const auto& [name, values] : wanted.qos) {
    const auto now = there.qos.find(name);
    if (now == there.qos.end()) {
      found.missing("QOS " + name);
    } else {
      found.fields("QOS " + name, qos_fields(), values, now->second);
    }
  }
  for (const auto& [name, one] : wanted.accounts) {
    const auto now = there.accounts.find(name);
    if (now == there.accounts.end()) {
      found.missing("account " + name);
      continue;
    }
    const std::string what = "account " + name;
    found.field(what, "Description", one.description, now->second.description);
    found.field(what, "Organization", one.organization, now->second.organization);
    found.field(what, "ParentName", one.parent, now->second.parent);
    found.field(what, "Coordinators", fmt::format("{}", fmt::join(one.all_coordinators, ",")),
                fmt::format("{}", fmt::join(now->second.coordinators, ",")));
  }
  for (const auto& [place, values] : wanted.associations) {
    const auto now = there.associations.find(place);
    if (now != there.associations.end()) {
      found.fields(in_words(place), association_fields(), values, now->second);
    } else if (!std::get<1>(place).empty()) {
      found.missing(in_words(place));
    }
  }
  for (const auto& [place, values] : there.associations) {
    const auto& [account, user, partition] = place;
    const bool of_root = account == accounts::kRootAccount && (user.empty() || user == "root");
    if (!of_root && user != kRemovedPeople && !wanted.associations.contains(place))
      found.more(in_words(place));
  }
  for (const auto& [name, one] : wanted.users) {
    const auto now = there.users.find(name);
    if (now == there.users.end()) continue;  // its associations are missing, too
    found.field("user " + name, "DefaultAccount", one.default_account, now->second.default_account);
    found.field("user " + name, "AdminLevel", one.admin_level, now->second.admin_level);
    if (!one.default_wckey.empty())
      found.field("user " + name, "DefaultWCKey", one.default_wckey, now->second.default_wckey);
    for (const std::string& key : one.wckeys)
      if (!now->second.wckeys.contains(key)) found.missing("WCKey " + key + " of user " + name);
  }
  return found.take();
}

}  // namespace minke::grow
