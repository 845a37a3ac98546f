#include "cli/sacctmgr/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "cli/fetch.h"
#include "text/number.h"

namespace minke::cli {
namespace {

using model::AssociationRecord;

int refuse(const std::string& problem) {
  std::fprintf(stderr, "%s\n", problem.c_str());
  return 1;
}

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string on_cluster(const AccountingSession& session, const AssociationRecord& one) {
  std::string text =
      fmt::format("  C = {:<10} A = {:<20} U = {:<9}", session.cluster(), one.account(), one.user());
  if (!one.partition().empty()) text += " P = " + one.partition();
  return text + "\n";
}

// Settings that are an association's; what is not is left to `other`, which says whether it knows it.
template <typename Other>
Status apply_settings(std::span<const Word> words, AssociationRecord& record, const sched::AccountBook& book,
                      bool& any, Other other) {
  for (const Word& word : words) {
    if (other(word)) continue;
    const auto done = set_association(record, word, book);
    if (!done) return failure(done.error());
    if (!*done)
      return failure(" Unknown option: " + word.text + "\n Use keyword 'where' to modify condition");
    any = true;
  }
  return {};
}

bool is_one_of(const Word& word, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), word.name) != names.end();
}

bool other_cluster(const AccountingSession& session, std::span<const Word> words) {
  const auto clusters = list_of(words, "cluster");
  std::string own;
  for (const char c : session.cluster()) own += text::to_lower(c);
  return !clusters.empty() && !contains(clusters, own);
}

std::string lower_value(std::span<const Word> words, std::string_view name) {
  const auto list = list_of(words, name);
  return list.empty() ? std::string() : list.front();
}

}  // namespace

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

std::vector<std::string> names_in(std::span<const Word> words, std::string_view entity) {
  std::vector<std::string> names;
  for (const Word& word : words) {
    if (!word.name.empty() && word.name != "name" && word.name != entity) continue;
    for (std::string& one : lower_list(word.value)) names.push_back(std::move(one));
  }
  return names;
}

std::vector<const AssociationRecord*> matching(const AccountingSession& session, std::span<const Word> where,
                                               bool user) {
  std::vector<const AssociationRecord*> found;
  if (other_cluster(session, where)) return found;
  std::vector<std::string> users = list_of(where, "user"), accounts = list_of(where, "account");
  const auto partitions = list_of(where, "partition");
  for (std::string& name : names_in(where, "")) (user ? users : accounts).push_back(std::move(name));
  for (const uint32_t id : session.book().in_tree_order()) {
    const AssociationRecord& one = *session.book().association(id);
    if (one.user().empty() == user) continue;
    if (user && !users.empty() && !contains(users, one.user())) continue;
    if (!accounts.empty() && !contains(accounts, one.account())) continue;
    if (!partitions.empty() && !contains(partitions, one.partition())) continue;
    found.push_back(&one);
  }
  return found;
}

// ---- add --------------------------------------------------------------------------------------------

int add_account(AccountingSession& session, const Words& words) {
  const sched::AccountBook& book = session.book();
  std::vector<Word> given = words.where;
  given.insert(given.end(), words.set.begin(), words.set.end());
  const auto names = names_in(given, "account");
  if (names.empty()) return refuse(" Need name of account to add.");
  if (other_cluster(session, given)) return refuse(" This cluster is not known here.");
  AssociationRecord pattern;
  pattern.set_shares(1);
  std::string description, organization;
  bool any = false;
  const Status read = apply_settings(given, pattern, book, any, [&](const Word& word) {
    if (word.name == "description") description = lower_list(word.value).empty() ? "" : word.value;
    if (word.name == "organization") organization = word.value;
    return word.name.empty() ||
           is_one_of(word, {"name", "account", "cluster", "parent", "description", "organization"});
  });
  if (!read) return refuse(read.error().message);
  for (std::string* one : {&description, &organization}) {
    for (char& c : *one) c = text::to_lower(c);
  }
  const std::string wanted_parent = lower_value(given, "parent");
  const std::string parent = wanted_parent.empty() ? std::string(sched::kRootAccount) : wanted_parent;
  if (book.find(parent) == nullptr)
    return refuse(" Parent account '" + parent + "' doesn't exist on cluster " + session.cluster() +
                  "\n        Contact your admin to add this account.\n No associations created.");
  std::string accounts, associations;
  for (const std::string& name : names) {
    if (book.account(name) == nullptr) {
      model::AccountRecord& record = session.change.accounts.emplace_back();
      record.set_name(name);
      record.set_description(description.empty() ? name : description);
      record.set_organization(!organization.empty()           ? organization
                              : parent == sched::kRootAccount ? name
                                                              : parent);
      accounts += "  " + name + "\n";
    }
    if (book.find(name) != nullptr) continue;
    AssociationRecord& record = session.change.associations.emplace_back(pattern);
    record.set_account(name);
    record.set_parent_account(parent);
    associations += fmt::format("  A = {:<10} C = {:<10}\n", name, session.cluster());
  }
  if (session.change.empty()) {
    session.say(" Nothing new added.\n");
    return 1;
  }
  std::string text;
  if (!accounts.empty())
    text += " Adding Account(s)\n" + accounts +
            " Settings\n  Description     = " + (description.empty() ? "Account Name" : description) +
            "\n  Organization    = " + (organization.empty() ? "Parent/Account Name" : organization) + "\n";
  if (!associations.empty())
    text += " Associations\n" + associations + " Settings\n" + settings_text(pattern) +
            fmt::format("  {:<14}= {}\n", "Parent", parent);
  session.say(text);
  return session.commit();
}

int add_user(AccountingSession& session, const Words& words) {
  const sched::AccountBook& book = session.book();
  std::vector<Word> given = words.where;
  given.insert(given.end(), words.set.begin(), words.set.end());
  const auto names = names_in(given, "user");
  if (names.empty()) return refuse(" Need name of user to add.");
  if (other_cluster(session, given)) return refuse(" This cluster is not known here.");
  AssociationRecord pattern;
  pattern.set_shares(1);
  bool any = false, bad_level = false;
  std::optional<model::AdminLevel> level;
  const Status read = apply_settings(given, pattern, book, any, [&](const Word& word) {
    if (word.name == "adminlevel") {
      level = parse_admin_level(word.value);
      bad_level |= !level;
    }
    return word.name.empty() || is_one_of(word, {"name", "user", "account", "cluster", "partition",
                                                 "defaultaccount", "adminlevel", "defaultwckey"});
  });
  if (!read) return refuse(read.error().message);
  if (bad_level) return refuse(" Unknown admin level: None, Operator or Administrator");
  std::vector<std::string> accounts = list_of(given, "account"), partitions = list_of(given, "partition");
  const std::string default_account = lower_value(given, "defaultaccount");
  if (accounts.empty() && !default_account.empty()) accounts.push_back(default_account);
  if (accounts.empty()) return refuse(" Need name of account to add user to.");
  for (const std::string& name : accounts) {
    if (book.find(name) != nullptr) continue;
    session.say(" Nothing new added.\n");
    return refuse(" This account '" + name + "' doesn't exist on cluster " + session.cluster() +
                  "\n        Contact your admin to add this account.");
  }
  if (partitions.empty()) partitions.emplace_back();
  std::string users, associations;
  for (const std::string& name : names) {
    if (!user_id_of(name) && book.user(name) == nullptr &&
        !session.agreed("There is no uid for user '" + name + "'\nAre you sure you want to continue?"))
      continue;
    const model::UserRecord* known = book.user(name);
    if (known == nullptr || level || !default_account.empty()) {
      model::UserRecord& record =
          session.change.users.emplace_back(known == nullptr ? model::UserRecord() : *known);
      record.set_name(name);
      if (level) record.set_admin_level(*level);
      if (!default_account.empty() || known == nullptr)
        record.set_default_account(default_account.empty() ? accounts.front() : default_account);
      if (known == nullptr) users += "  " + name + "\n";
    }
    for (const std::string& account : accounts) {
      for (const std::string& partition : partitions) {
        if (book.find(account, name, partition) != nullptr) continue;
        AssociationRecord& record = session.change.associations.emplace_back(pattern);
        record.set_account(account);
        record.set_user(name);
        record.set_partition(partition);
        associations += fmt::format("  U = {:<9} A = {:<10} C = {:<10}", name, account, session.cluster());
        if (!partition.empty()) associations += fmt::format(" P = {:<10}", partition);
        associations += '\n';
      }
    }
  }
  if (session.change.associations.empty() && users.empty()) {
    session.say(" Nothing new added.\n");
    return 1;
  }
  std::string text;
  if (!users.empty()) text += " Adding User(s)\n" + users;
  if (!default_account.empty() || level) {
    text += " Settings =\n";
    if (!default_account.empty()) text += "  Default Account = " + default_account + "\n";
    if (level) text += "  Admin Level     = " + admin_level_text(*level) + "\n";
  }
  if (!associations.empty())
    text += " Associations =\n" + associations + " Non Default Settings\n" + settings_text(pattern);
  session.say(text);
  return session.commit();
}

int add_qos(AccountingSession& session, const Words& words) {
  std::vector<Word> given = words.where;
  given.insert(given.end(), words.set.begin(), words.set.end());
  const auto names = names_in(given, "qos");
  if (names.empty()) return refuse(" Need name of qos to add.");
  model::QosRecord pattern;
  for (const Word& word : given) {
    if (word.name.empty() || word.name == "name" || word.name == "qos") continue;
    const auto done = set_qos(pattern, word, session.book());
    if (!done) return refuse(done.error().message);
    if (!*done) return refuse(" Unknown option: " + word.text);
  }
  std::string added;
  for (const std::string& name : names) {
    if (session.book().qos(name) != nullptr) continue;
    model::QosRecord& record = session.change.qos.emplace_back(pattern);
    record.set_id(0);
    record.set_name(name);
    if (record.description().empty()) record.set_description(name);
    added += "  " + name + "\n";
  }
  if (added.empty()) {
    session.say(" Nothing new added.\n");
    return 1;
  }
  // Their ids: of several, each its own.
  uint32_t next = session.book().qos().rbegin()->first;
  for (model::QosRecord& record : session.change.qos) record.set_id(++next);
  session.say(" Adding QOS(s)\n" + added + " Settings\n" + settings_text(session.change.qos.back()));
  return session.commit();
}

int change_coordinators(AccountingSession& session, const Words& words, bool add) {
  std::vector<Word> given = words.where;
  given.insert(given.end(), words.set.begin(), words.set.end());
  const auto accounts = list_of(given, "account");
  const auto users = names_in(given, "user");
  if (accounts.empty()) return refuse(" You need to specify a list of accounts.");
  if (users.empty()) return refuse(" You need to specify a user list here.");
  std::string text = add ? " Adding Coordinator User(s)\n" : " Removing Coordinators with user name\n";
  for (const std::string& user : users) {
    if (session.book().user(user) == nullptr)
      return refuse(" You specified a coordinator that doesn't exist: " + user);
    text += "  " + user + "\n";
  }
  text += add ? " To Account(s) and all sub-accounts\n" : " From Account(s)\n";
  for (const std::string& name : accounts) {
    const model::AccountRecord* known = session.book().account(name);
    if (known == nullptr) return refuse(" There is no account " + name);
    model::AccountRecord& record = session.change.accounts.emplace_back(*known);
    auto& list = *record.mutable_coordinators();
    for (const std::string& user : users) {
      list.erase(std::remove(list.begin(), list.end(), user), list.end());
      if (add) *list.Add() = user;
    }
    text += "  " + name + "\n";
  }
  session.say(text);
  return session.commit();
}

// ---- modify -----------------------------------------------------------------------------------------

namespace {

// Modifies all of them alike. False: nothing was an association's setting.
Result<bool> modify_associations(AccountingSession& session, const Words& words,
                                 const std::vector<const AssociationRecord*>& found,
                                 std::initializer_list<std::string_view> not_theirs) {
  bool any = false;
  for (const AssociationRecord* one : found) {
    AssociationRecord record = *one;
    const Status done = apply_settings(words.set, record, session.book(), any,
                                       [&](const Word& word) { return is_one_of(word, not_theirs); });
    if (!done) return failure(done.error());
    if (any) session.change.associations.push_back(std::move(record));
  }
  return any;
}

int nothing_modified(const AccountingSession& session) {
  session.say(" Nothing modified\n");
  return 1;
}

int reset_usage(AccountingSession& session, const std::vector<const AssociationRecord*>& found,
                const Word& word) {
  if (word.value != "0") return refuse(" RawUsage can only be set to 0 (zero)");
  for (const AssociationRecord* one : found) session.reset_usage.push_back(one->id());
  return found.empty() ? nothing_modified(session) : session.commit();
}

}  // namespace

int modify_account(AccountingSession& session, const Words& words) {
  if (words.set.empty()) return refuse(" You didn't give me anything to set");
  const auto found = matching(session, words.where, false);
  for (const Word& word : words.set) {
    if (word.name == "rawusage") return reset_usage(session, found, word);
  }
  AssociationRecord probe;
  bool any = false;
  const auto own = {std::string_view("description"), std::string_view("organization"),
                    std::string_view("parent")};
  const Status known = apply_settings(words.set, probe, session.book(), any,
                                      [&](const Word& word) { return is_one_of(word, own); });
  if (!known) return refuse(known.error().message);
  const std::string parent = lower_value(words.set, "parent");
  if (!parent.empty() && session.book().find(parent) == nullptr)
    return refuse(" Parent Account " + parent + " doesn't exist.");
  if (found.empty()) return nothing_modified(session);
  std::string accounts, associations;
  if (const auto done = modify_associations(session, words, found, own); !done)
    return refuse(done.error().message);
  for (const AssociationRecord* one : found) {
    const model::AccountRecord* record = session.book().account(one->account());
    model::AccountRecord changed = *record;
    for (const Word& word : words.set) {
      std::string value;
      for (const char c : word.value) value += text::to_lower(c);
      if (word.name == "description") changed.set_description(value);
      if (word.name == "organization") changed.set_organization(value);
    }
    if (changed.SerializeAsString() != record->SerializeAsString()) {
      session.change.accounts.push_back(changed);
      accounts += "  " + one->account() + "\n";
    }
    if (!parent.empty() && one->id() != sched::kRootAssociation) {
      AssociationRecord* moved = nullptr;
      for (AssociationRecord& record_of : session.change.associations) {
        if (record_of.id() == one->id()) moved = &record_of;
      }
      if (moved == nullptr) moved = &session.change.associations.emplace_back(*one);
      moved->set_parent_account(parent);
    }
    if (any || !parent.empty())
      associations += fmt::format("  C = {:<10} A = {}{}\n", session.cluster(), one->account(),
                                  one->parent_account().empty() ? "" : " of " + one->parent_account());
  }
  if (session.change.empty()) return nothing_modified(session);
  if (!accounts.empty()) session.say(" Modified accounts...\n" + accounts);
  if (!associations.empty()) session.say(" Modified account associations...\n" + associations);
  return session.commit();
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
  const auto own = {std::string_view("adminlevel"), std::string_view("defaultaccount"),
                    std::string_view("defaultwckey")};
  const Status known = apply_settings(words.set, probe, session.book(), any, [&](const Word& word) {
    if (word.name == "adminlevel") {
      level = parse_admin_level(word.value);
      bad_level |= !level;
    }
    return is_one_of(word, own);
  });
  if (!known) return refuse(known.error().message);
  if (bad_level) return refuse(" Unknown admin level: None, Operator or Administrator");
  const std::string default_account = lower_value(words.set, "defaultaccount");
  std::set<std::string> names;
  for (const AssociationRecord* one : found) names.insert(one->user());
  std::string users, associations;
  for (const std::string& name : names) {
    const model::UserRecord* record = session.book().user(name);
    if (record == nullptr || (!level && default_account.empty())) continue;
    if (!default_account.empty() && session.book().find(default_account, name) == nullptr)
      return refuse(" User " + name + " has no association with account " + default_account);
    model::UserRecord& changed = session.change.users.emplace_back(*record);
    if (level) changed.set_admin_level(*level);
    if (!default_account.empty()) changed.set_default_account(default_account);
    users += "  " + name + "\n";
  }
  if (const auto done = modify_associations(session, words, found, own); !done)
    return refuse(done.error().message);
  for (const AssociationRecord& one : session.change.associations) associations += on_cluster(session, one);
  if (session.change.empty()) return nothing_modified(session);
  if (!users.empty()) session.say(" Modified users...\n" + users);
  if (!associations.empty()) session.say(" Modified user associations...\n" + associations);
  return session.commit();
}

int modify_qos(AccountingSession& session, const Words& words) {
  if (words.set.empty()) return refuse(" You didn't give me anything to set");
  const auto names = names_in(words.where, "qos");
  std::string text;
  for (const auto& [id, one] : session.book().qos()) {
    if (!names.empty() && !contains(names, one.name())) continue;
    model::QosRecord record = one;
    for (const Word& word : words.set) {
      if (word.name == "rawusage") {
        session.reset_qos_usage.push_back(id);
        continue;
      }
      const auto done = set_qos(record, word, session.book());
      if (!done) return refuse(done.error().message);
      if (!*done)
        return refuse(" Unknown option: " + word.text + "\n Use keyword 'where' to modify condition");
    }
    text += "  " + one.name() + "\n";
    session.change.qos.push_back(std::move(record));
  }
  if (text.empty()) return nothing_modified(session);
  session.say(" Modified qos...\n" + text);
  return session.commit();
}

// ---- delete -----------------------------------------------------------------------------------------

namespace {

int nothing_deleted(const AccountingSession& session) {
  session.say(" Nothing deleted\n");
  return 1;
}

}  // namespace

int delete_account(AccountingSession& session, const Words& words) {
  const auto names = names_in(words.where, "account");
  if (names.empty()) return refuse(" No conditions given to remove, not executing.");
  std::string text;
  for (const std::string& name : names) {
    if (name == sched::kRootAccount || session.book().account(name) == nullptr) continue;
    session.change.removed_accounts.push_back(name);
    text += "  " + name + "\n";
  }
  if (text.empty()) return nothing_deleted(session);
  session.say(" Deleting accounts...\n" + text);
  return session.commit();
}

int delete_user(AccountingSession& session, const Words& words) {
  const auto names = names_in(words.where, "user");
  const bool everywhere =
      list_of(words.where, "account").empty() && list_of(words.where, "partition").empty();
  if (names.empty() && everywhere) return refuse(" No conditions given to remove, not executing.");
  std::string text, users;
  if (everywhere) {
    for (const std::string& name : names) {
      if (session.book().user(name) == nullptr) continue;
      session.change.removed_users.push_back(name);
      users += "  " + name + "\n";
    }
    if (users.empty()) return nothing_deleted(session);
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
    text += fmt::format("  C = {:<10} A = {:<10} U = {:<9}", session.cluster(), one->account(), one->user());
    if (!one->partition().empty()) text += " P = " + one->partition();
    text += "\n";
    if (--left[one->user()] == 0) {
      session.change.removed_users.push_back(one->user());
      users += "  " + one->user() + "\n";
    }
  }
  if (text.empty()) return nothing_deleted(session);
  session.say(" Deleting user associations...\n" + text);
  if (!users.empty()) session.say(" Deleting users (No Associations)...\n" + users);
  return session.commit();
}

int delete_qos(AccountingSession& session, const Words& words) {
  const auto names = names_in(words.where, "qos");
  if (names.empty()) return refuse(" No conditions given to remove, not executing.");
  std::string text;
  for (const std::string& name : names) {
    const model::QosRecord* record = session.book().qos(name);
    if (record == nullptr || record->id() == sched::kNormalQos) continue;
    session.change.removed_qos.push_back(record->id());
    text += "  " + name + "\n";
  }
  if (text.empty()) return nothing_deleted(session);
  session.say(" Deleting QOS(s)...\n" + text);
  return session.commit();
}

}  // namespace minke::cli
