#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/version.h"
#include "cli/sacctmgr/change.h"
#include "cli/sacctmgr/matching.h"
#include "model/accounts.pb.h"
#include "text/number.h"

namespace minke::cli {

using model::AssociationRecord;

namespace {
std::string unknown_cluster(const AccountingSession& session, std::span<const Word> given) {
  std::string name;
  for (const std::string& one : list_of(given, "cluster"))
    if (name.empty() && !session.book().clusters().contains(session.cluster_in_book(one))) name = one;
  return " error: Cluster '" + name +
         "' has not been added yet, please contact your admin before adding accounts to it";
}
}  // namespace

int add_account(AccountingSession& session, const Words& words) {
  const accounts::AccountBook& book = session.book();
  std::vector<Word> given = words.where;
  given.insert(given.end(), words.set.begin(), words.set.end());
  const auto names = names_in(given, "account");
  if (names.empty()) return refuse(" Need name of account to add. (sacctmgr add account NAME)");
  const auto clusters = session.clusters_of(given);
  if (!clusters && spoken_release() >= kSlurm24) return refuse(unknown_cluster(session, given));
  if (!clusters) return refuse(clusters.error().message);
  AssociationRecord pattern;
  pattern.set_shares(1);
  std::string description, organization;
  bool any = false;
  const Status read = apply_settings(given, pattern, book, any, [&](const Word& word) {
    if (word.name == "description") description = text::lower_case(word.value);
    if (word.name == "organization") organization = text::lower_case(word.value);
    return word.name.empty() ||
           is_one_of(word, {"name", "account", "cluster", "parent", "description", "organization"});
  });
  if (!read) return refuse(read.error().message);
  const std::string wanted_parent = lower_value(given, "parent");
  const std::string parent = wanted_parent.empty() ? std::string(accounts::kRootAccount) : wanted_parent;
  for (const std::string& cluster : *clusters) {
    if (book.find(parent, {}, {}, cluster) != nullptr) continue;
    if (spoken_release() >= kSlurm24)
      return refuse(" error: No parent account '" + parent + "' on cluster '" +
                    session.cluster_name(cluster) + "'");
    return refuse(" Parent account '" + parent + "' doesn't exist on cluster " +
                  session.cluster_name(cluster) +
                  "\n        Contact your admin to add this account.\n No associations created.");
  }
  const bool old = spoken_release() < kSlurm24;
  std::string accounts, associations, present;
  for (const std::string& name : names) {
    if (book.account(name) == nullptr) {
      model::AccountRecord& record = session.change.accounts.emplace_back();
      record.set_name(name);
      record.set_description(description.empty() ? name : description);
      record.set_organization(!organization.empty()              ? organization
                              : parent == accounts::kRootAccount ? name
                                                                 : parent);
      accounts += "  " + name + "\n";
    }
    for (const std::string& cluster : *clusters) {
      if (book.find(name, {}, {}, cluster) != nullptr) {
        present += "Already existing account " + name + " on cluster " + session.cluster_name(cluster) + "\n";
        continue;
      }
      AssociationRecord& record = session.change.associations.emplace_back(pattern);
      record.set_account(name);
      record.set_parent_account(parent);
      record.set_cluster(cluster);
      associations += old ? fmt::format("  A = {:<10} C = {:<10}\n", name, session.cluster_name(cluster))
                          : fmt::format("  C = {:<10} A = {:<20}\n", session.cluster_name(cluster), name);
    }
  }
  if (session.change.empty() && (old || present.empty())) return session.nothing("new added.");
  if (session.change.empty()) return session.say(" " + present), 1;
  std::string text;
  if (!accounts.empty())
    text += " Adding Account(s)\n" + accounts +
            " Settings\n  Description     = " + (description.empty() ? "Account Name" : description) +
            "\n  Organization    = " + (organization.empty() ? "Parent/Account Name" : organization) + "\n";
  const std::string heading = old ? " Associations\n" : present.empty() ? " Associations =\n" : present;
  if (!associations.empty()) text += heading + associations;
  std::string settings = settings_text(pattern);
  if (!wanted_parent.empty()) settings += fmt::format("  {:<14}= {}\n", "Parent", parent);
  if (settings.empty() && old && !(description.empty() && organization.empty()))
    settings = fmt::format("  {:<14}= {}\n", "Parent", parent);
  if (!settings.empty() || !(description.empty() && organization.empty())) text += " Settings\n" + settings;
  session.say(text);
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

namespace {

std::string account_line(const AccountingSession& session, const AssociationRecord& one) {
  return fmt::format("  C = {:<10} A = {}{}\n", session.cluster_name(one.cluster()), one.account(),
                     one.parent_account().empty() ? "" : " of " + one.parent_account());
}

AssociationRecord& changed(AccountingSession& session, const AssociationRecord& one) {
  for (AssociationRecord& record : session.change.associations) {
    if (record.id() == one.id()) return record;
  }
  return session.change.associations.emplace_back(one);
}

// Moves these associations below `parent`, each on its cluster. As in Slurm, a parent that is below one of
// them first takes that one's place.
void move_below(AccountingSession& session, const std::vector<const AssociationRecord*>& found,
                const std::string& parent) {
  for (const AssociationRecord* one : found) {
    if (one->account() == accounts::kRootAccount) continue;
    const AssociationRecord* above = session.book().find(parent, {}, {}, one->cluster());
    const AssociationRecord* up = above;
    while (up != nullptr && up->id() != one->id() && up->account() != accounts::kRootAccount)
      up = session.book().find(up->parent_account(), {}, {}, one->cluster());
    if (up == one && above != one) changed(session, *above).set_parent_account(one->parent_account());
    changed(session, *one).set_parent_account(parent);
  }
}

}  // namespace

int modify_account(AccountingSession& session, const Words& words) {
  if (words.set.empty()) return refuse(" You didn't give me anything to set");
  if (!value_of(words.set, "cluster").empty()) return refuse(" Can't modify the cluster of an account");
  // Changes users of the accounts, if some are named.
  const auto found = matching(session, words.where, !list_of(words.where, "user").empty());
  for (const Word& word : words.set) {
    if (word.name == "rawusage") return reset_usage(session, found, word);
  }
  AssociationRecord probe;
  bool any = false;
  const auto own = [](const Word& word) {
    return is_one_of(word, {"description", "organization", "parent"});
  };
  const Status known = apply_settings(words.set, probe, session.book(), any, own);
  if (!known) return refuse(known.error().message);
  const std::string parent = lower_value(words.set, "parent");
  for (const AssociationRecord* one : found) {
    if (!parent.empty() && session.book().find(parent, {}, {}, one->cluster()) == nullptr)
      return refuse(" Parent Account " + parent + " doesn't exist on cluster " +
                    session.cluster_name(one->cluster()));
  }
  if (found.empty()) return nothing_modified(session, "account");
  const auto moves = [&](const AssociationRecord* one) {
    return one->account() != accounts::kRootAccount && one->parent_account() != parent;
  };
  const bool moved = !parent.empty() && std::any_of(found.begin(), found.end(), moves);
  // Newer releases tell that a parent is not new.
  if (!parent.empty() && !moved && words.set.size() == 1 && spoken_release() >= kSlurm24)
    return nothing_modified(session, "account");
  std::string accounts, associations;
  if (const auto done = modify_associations(session, words, found, own); !done)
    return refuse(done.error().message);
  std::set<std::string> names;
  for (const AssociationRecord* one : found) names.insert(one->account());
  for (const std::string& name : names) {
    const model::AccountRecord* record = session.book().account(name);
    model::AccountRecord changed = *record;
    for (const Word& word : words.set) {
      if (word.name == "description") changed.set_description(text::lower_case(word.value));
      if (word.name == "organization") changed.set_organization(text::lower_case(word.value));
    }
    if (changed.SerializeAsString() == record->SerializeAsString()) continue;
    session.change.accounts.push_back(changed);
    accounts += "  " + name + "\n";
  }
  if (!parent.empty()) move_below(session, found, parent);
  if (any || !parent.empty()) {
    for (const AssociationRecord* one : found) {
      associations += one->user().empty() ? account_line(session, *one) : on_cluster(session, *one);
      if (!one->user().empty()) continue;
      for (const AssociationRecord* user : inheritors(session, *one, words.set))
        associations += on_cluster(session, *user);
    }
  }
  if (session.change.empty()) return session.nothing("modified");
  if (!accounts.empty()) session.say(" Modified accounts...\n" + accounts);
  if (!associations.empty()) session.say(" Modified account associations...\n" + associations);
  return session.commit();
}

int delete_account(AccountingSession& session, const Words& words) {
  const auto names = names_in(words.where, "account");
  if (names.empty()) return refuse(" No conditions given to remove, not executing.");
  std::string text;
  if (!list_of(words.where, "cluster").empty()) {
    for (const AssociationRecord* one : matching(session, words.where, false)) {
      if (one->account() == accounts::kRootAccount) continue;
      session.change.removed_associations.push_back(one->id());
      text += account_line(session, *one);
    }
    if (text.empty()) return session.nothing("deleted");
    session.say(" Deleting account associations...\n" + text);
    return session.commit();
  }
  for (const std::string& name : names) {
    if (name == accounts::kRootAccount || session.book().account(name) == nullptr) continue;
    session.change.removed_accounts.push_back(name);
    text += "  " + name + "\n";
  }
  if (text.empty()) return session.nothing("deleted");
  session.say(" Deleting accounts...\n" + text);
  return session.commit();
}

}  // namespace minke::cli
