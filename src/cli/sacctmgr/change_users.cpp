#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/version.h"
#include "cli/sacctmgr/change.h"
#include "cli/sacctmgr/matching.h"
#include "model/accounts.pb.h"
#include "os/user_id.h"
#include "text/number.h"

namespace minke::cli {

using model::AssociationRecord;

std::string admin_level_text(model::AdminLevel level) {
  if (level == model::ADMIN_ADMINISTRATOR) return "Administrator";
  return level == model::ADMIN_OPERATOR ? "Operator" : "None";
}

std::optional<model::AdminLevel> parse_admin_level(std::string_view given) {
  if (given.empty()) return std::nullopt;
  if (text::starts_with_ignoring_case("administrator", given) ||
      text::equals_ignoring_case(given, "superuser"))
    return model::ADMIN_ADMINISTRATOR;
  if (text::starts_with_ignoring_case("operator", given)) return model::ADMIN_OPERATOR;
  if (text::starts_with_ignoring_case("none", given)) return model::ADMIN_NONE;
  return std::nullopt;
}

namespace {

// Whether it is a setting of a user, not of the user's associations.
bool is_of_users(const Word& word) {
  return is_one_of(word, {"adminlevel", "defaultaccount", "defaultwckey"});
}

// Returns the user's record in the change, or adds a copy of the book's.
model::UserRecord& changed_user(AccountingSession& session, const std::string& name) {
  for (model::UserRecord& one : session.change.users) {
    if (one.name() == name) return one;
  }
  const model::UserRecord* known = session.book().user(name);
  model::UserRecord& record =
      session.change.users.emplace_back(known == nullptr ? model::UserRecord() : *known);
  record.set_name(name);
  return record;
}

// Returns the user's new keys, one line each.
std::string add_wckeys(AccountingSession& session, const std::string& user,
                       const std::vector<std::string>& wckeys) {
  std::string lines;
  const model::UserRecord* known = session.book().user(user);
  for (const std::string& key : wckeys) {
    const auto has = [&](const auto& list) { return std::find(list.begin(), list.end(), key) != list.end(); };
    if (known != nullptr && has(known->wckeys())) continue;
    changed_user(session, user).add_wckeys(key);
    lines += spoken_release() < kSlurm24
                 ? fmt::format("  U = {:<9} W = {:<10} C = {:<10}\n", user, key, session.cluster())
                 : fmt::format("  C = {:<10} W = {:<10} U = {:<9}\n", session.cluster(), key, user);
  }
  return lines;
}

// What is said of an association that is made.
std::string added_line(const std::string& user, const std::string& account, const std::string& cluster,
                       const std::string& partition) {
  if (spoken_release() < kSlurm24) {
    const std::string where = partition.empty() ? "" : fmt::format(" P = {:<10}", partition);
    return fmt::format("  U = {:<9} A = {:<10} C = {:<10}{}\n", user, account, cluster, where);
  }
  const std::string where = partition.empty() ? "" : " P = " + partition;
  return fmt::format("  C = {:<10} A = {:<20} U = {:<9}{}\n", cluster, account, user, where);
}

int nothing_added(const AccountingSession& session) {
  if (spoken_release() < kSlurm24) return session.nothing("new added.");
  session.say(
      "Nothing added.\nMake sure the accounts requested here have been added to the system/cluster. "
      "(sacctmgr add account...)\n");
  return 1;
}

}  // namespace

int add_user(AccountingSession& session, const Words& words) {
  const accounts::AccountBook& book = session.book();
  std::vector<Word> given = words.where;
  given.insert(given.end(), words.set.begin(), words.set.end());
  const auto names = names_in(given, "user");
  if (names.empty() && value_of(given, "user").empty() && given.size() <= 1 && !given.empty() &&
      spoken_release() >= kSlurm24)
    return refuse(" Need name of account or wckey to add.");
  if (names.empty()) return refuse(" Need name of user to add.");
  const auto clusters = session.clusters_of(given);
  if (!clusters) return refuse(clusters.error().message);
  AssociationRecord pattern;
  pattern.set_shares(1);
  bool any = false, bad_level = false;
  std::optional<model::AdminLevel> level;
  const Status read = apply_settings(given, pattern, book, any, [&](const Word& word) {
    if (word.name == "adminlevel") {
      level = parse_admin_level(word.value);
      bad_level |= !level;
    }
    return word.name.empty() || is_of_users(word) ||
           is_one_of(word, {"name", "user", "account", "cluster", "partition", "wckeys"});
  });
  if (!read) return refuse(read.error().message);
  if (bad_level) return refuse(" Unknown admin level: None, Operator or Administrator");
  std::vector<std::string> accounts = list_of(given, "account"), partitions = list_of(given, "partition");
  std::vector<std::string> wckeys = list_of(given, "wckeys");
  const std::string default_account = lower_value(given, "defaultaccount");
  const std::string default_wckey = lower_value(given, "defaultwckey");
  // Older releases leave out a default account that account= does not name.
  const bool named = contains(accounts, default_account);
  if (!default_account.empty() && !named && (accounts.empty() || spoken_release() >= kSlurm24))
    accounts.insert(accounts.begin(), default_account);
  if (wckeys.empty() && !default_wckey.empty()) wckeys.push_back(default_wckey);
  const bool old = spoken_release() < kSlurm24;
  if (accounts.empty() && wckeys.empty())
    return refuse(std::string(old ? " Need name of account to add user to."
                                  : " Need name of account or wckey to add.") +
                  " (account=NAME; sacctmgr show account lists them)");
  std::string missing;
  bool somewhere = accounts.empty();
  for (const std::string& name : accounts) {
    for (const std::string& cluster : *clusters) {
      if (book.find(name, {}, {}, cluster) != nullptr) {
        somewhere = true;
        continue;
      }
      missing +=
          !old ? "No account " + name + " on cluster " + session.cluster_name(cluster) + ", skipping.\n"
               : " This account '" + name + "' doesn't exist on cluster " + session.cluster_name(cluster) +
                     "\n        Contact your admin to add this account.\n";
    }
  }
  if (!somewhere && old && accounts.size() == 1)
    return refuse(" This account '" + accounts.front() +
                  "' doesn't exist.\n        Contact your admin to add this account.\n No associations or "
                  "wckeys created.");
  if (!missing.empty())
    old ? static_cast<void>(refuse(missing.substr(0, missing.size() - 1))) : session.say(missing);
  if (!somewhere) return nothing_added(session);
  if (partitions.empty()) partitions.emplace_back();
  std::string users, associations, keys;
  for (const std::string& name : names) {
    if (!os::user_id_of(name) && book.user(name) == nullptr &&
        !session.agreed("There is no uid for user '" + name + "'\nAre you sure you want to continue?"))
      continue;
    if (book.user(name) == nullptr) {
      changed_user(session, name);
      users += "  " + name + "\n";
    }
    if (level) changed_user(session, name).set_admin_level(*level);
    if (!default_wckey.empty()) changed_user(session, name).set_default_wckey(default_wckey);
    keys += add_wckeys(session, name, wckeys);
    for (const std::string& cluster : *clusters) {
      const auto first_known = std::find_if(
          accounts.begin(), accounts.end(),
          [&](const std::string& account) { return book.find(account, {}, {}, cluster) != nullptr; });
      for (const std::string& account : accounts) {
        if (book.find(account, {}, {}, cluster) == nullptr) continue;
        const bool no_default =
            default_account.empty() || book.find(default_account, {}, {}, cluster) == nullptr;
        const std::string first = no_default ? *first_known : default_account;
        const bool has_default = !book.default_account(name, cluster).empty();
        for (const std::string& partition : partitions) {
          if (book.find(account, name, partition, cluster) != nullptr) continue;
          AssociationRecord& record = session.change.associations.emplace_back(pattern);
          record.set_account(account);
          record.set_user(name);
          record.set_partition(partition);
          record.set_cluster(cluster);
          record.set_is_default(!cluster.empty() && !has_default && account == first);
          associations += added_line(name, account, session.cluster_name(cluster), partition);
        }
        if (cluster.empty() && account == first && (!has_default || !no_default))
          changed_user(session, name).set_default_account(account);
      }
    }
  }
  if (session.change.associations.empty() && users.empty() && keys.empty())
    return old || !missing.empty()
               ? nothing_added(session)
               : (session.say("Request didn't affect anything\n"), nothing_added(session));
  std::string text;
  if (!users.empty()) text += " Adding User(s)\n" + users;
  if (!default_account.empty() || level || (!old && !users.empty())) {
    text += old ? " Settings =\n" : " Settings\n";
    if (!default_account.empty()) text += "  Default Account = " + default_account + "\n";
    if (level) text += "  Admin Level     = " + admin_level_text(*level) + "\n";
  }
  const std::string settings = settings_text(pattern);
  const std::string others = old || !settings.empty() ? " Non Default Settings\n" + settings : "";
  if (!associations.empty()) text += " Associations =\n" + associations;
  if (!associations.empty() && old) text += others;
  if (!keys.empty()) text += (old ? " WCKeys =\n" : " Wckey(s)\n") + keys;
  if (!associations.empty() && !old) text += others;
  session.say(text);
  const int status = session.commit();
  return missing.empty() ? status : 1;
}

int modify_user(AccountingSession& session, const Words& words) {
  if (words.set.empty()) return refuse(" You didn't give me anything to set");
  const auto found = matching(session, words.where, true);
  for (const Word& word : words.set) {
    if (word.name == "rawusage") return reset_usage(session, found, word);
  }
  AssociationRecord probe;
  bool any = false, bad_level = false;
  std::optional<model::AdminLevel> level;
  const Status known = apply_settings(words.set, probe, session.book(), any, [&](const Word& word) {
    if (word.name == "adminlevel") {
      level = parse_admin_level(word.value);
      bad_level |= !level;
    }
    return is_of_users(word);
  });
  if (!known) return refuse(known.error().message);
  if (bad_level) return refuse(" Unknown admin level: None, Operator or Administrator");
  const std::string default_account = lower_value(words.set, "defaultaccount");
  const std::string default_wckey = lower_value(words.set, "defaultwckey");
  std::set<std::pair<std::string, std::string>> places;  // cluster, user
  std::set<std::string> names;
  for (const AssociationRecord* one : found) {
    names.insert(one->user());
    places.emplace(one->cluster(), one->user());
  }
  std::string users, associations, strangers;
  if (!default_account.empty()) {
    for (const auto& [cluster, name] : places) {
      const auto own = session.book().accounts_of(name, cluster);
      if (std::find(own.begin(), own.end(), default_account) == own.end())
        strangers += "  U = " + name + " C = " + session.cluster_name(cluster) + "\n";
    }
    if (!strangers.empty()) {
      session.say(" Can't modify because these users aren't associated with new default account '" +
                  default_account + "'...\n" + strangers);
      return 1;
    }
  }
  // Also those without any settings yet: users of other clusters alone.
  const bool of_users = level || !default_account.empty() || !default_wckey.empty();
  for (const std::string& name : of_users ? names : std::set<std::string>()) {
    model::UserRecord& changed = changed_user(session, name);
    if (level) changed.set_admin_level(*level);
    if (!default_account.empty() && places.contains({"", name})) changed.set_default_account(default_account);
    if (!default_wckey.empty()) changed.set_default_wckey(default_wckey);
    users += "  " + name + "\n";
  }
  if (const auto done = modify_associations(session, words, found, is_of_users); !done)
    return refuse(done.error().message);
  for (const AssociationRecord& one : session.change.associations) associations += on_cluster(session, one);
  if (!default_account.empty()) {  // for other clusters: a mark on the association
    for (const auto& [id, one] : session.book().associations()) {
      if (one.cluster().empty() || !places.contains({one.cluster(), one.user()})) continue;
      const bool is_default = one.account() == default_account;
      if (is_default == one.is_default()) continue;
      AssociationRecord* changed = nullptr;
      for (AssociationRecord& record : session.change.associations) {
        if (record.id() == id) changed = &record;
      }
      if (changed == nullptr) changed = &session.change.associations.emplace_back(one);
      changed->set_is_default(is_default);
    }
  }
  if (session.change.empty()) return nothing_modified(session, "user");
  if (!users.empty()) session.say(" Modified users...\n" + users);
  if (!associations.empty()) session.say(" Modified user associations...\n" + associations);
  return session.commit();
}

int delete_user(AccountingSession& session, const Words& words) {
  const auto names = names_in(words.where, "user");
  const auto wckeys = list_of(words.where, "wckeys");
  const bool everywhere = list_of(words.where, "account").empty() &&
                          list_of(words.where, "partition").empty() &&
                          list_of(words.where, "cluster").empty();
  if (names.empty() && everywhere && wckeys.empty())
    return refuse(" No conditions given to remove, not executing.");
  std::string text, users;
  if (!wckeys.empty()) {
    for (const auto& [name, user] : session.book().users()) {
      if (!names.empty() && !contains(names, name)) continue;
      for (const std::string& key : wckeys) {
        const auto& list = user.wckeys();
        if (std::find(list.begin(), list.end(), key) == list.end()) continue;
        auto& left = *changed_user(session, name).mutable_wckeys();
        left.erase(std::remove(left.begin(), left.end(), key), left.end());
        text += fmt::format("  C = {:<10} W = {:<10} U = {:<9}\n", session.cluster(), key, name);
      }
    }
    if (text.empty()) return session.nothing("deleted");
    session.say(" Deleting users WCKeys...\n" + text);
    return session.commit();
  }
  if (everywhere) {
    for (const std::string& name : names) {
      if (session.book().user(name) == nullptr) continue;
      session.change.removed_users.push_back(name);
      users += "  " + name + "\n";
    }
    if (users.empty()) return session.nothing("deleted");
    session.say(" Deleting users...\n" + users);
    return session.commit();
  }
  std::vector<Word> where = words.where;
  for (Word& word : where) {
    if (word.name == "name" || word.name.empty()) word.name = "user";
  }
  std::map<std::string, size_t> left;
  for (const auto& [id, one] : session.book().associations()) ++left[one.user()];
  for (const AssociationRecord* one : matching(session, where, true)) {
    session.change.removed_associations.push_back(one->id());
    text += fmt::format("  C = {:<10} A = {:<10} U = {:<9}", session.cluster_name(one->cluster()),
                        one->account(), one->user());
    if (!one->partition().empty()) text += " P = " + one->partition();
    text += "\n";
    if (--left[one->user()] == 0) {
      session.change.removed_users.push_back(one->user());
      users += "  " + one->user() + "\n";
    }
  }
  if (text.empty()) return session.nothing("deleted");
  session.say(" Deleting user associations...\n" + text);
  if (!users.empty()) session.say(" Deleting users (No Associations)...\n" + users);
  return session.commit();
}

}  // namespace minke::cli
