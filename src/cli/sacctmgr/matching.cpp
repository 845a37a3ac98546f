#include "cli/sacctmgr/matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/version.h"
#include "model/accounts.pb.h"

namespace minke::cli {

using model::AssociationRecord;

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string lower_value(std::span<const Word> words, std::string_view name) {
  const auto list = list_of(words, name);
  return list.empty() ? std::string() : list.front();
}

std::string on_cluster(const AccountingSession& session, const AssociationRecord& one) {
  std::string text = fmt::format("  C = {:<10} A = {:<20} U = {:<9}", session.cluster_name(one.cluster()),
                                 one.account(), one.user());
  if (!one.partition().empty()) text += " P = " + one.partition();
  return text + "\n";
}

Status apply_settings(std::span<const Word> words, AssociationRecord& record,
                      const accounts::AccountBook& book, bool& any,
                      const std::function<bool(const Word&)>& other) {
  for (const Word& word : words) {
    if (other(word)) continue;
    const auto done = set_association(record, word, book);
    if (!done) return failure(done.error());
    if (!*done) return failure(unknown_option(word));
    any = true;
  }
  return {};
}

std::vector<const AssociationRecord*> matching(const AccountingSession& session, std::span<const Word> where,
                                               bool user) {
  std::vector<const AssociationRecord*> found;
  const auto clusters = session.clusters_of(where);
  if (!clusters) return found;
  std::vector<std::string> users = list_of(where, "user"), accounts = list_of(where, "account");
  const auto partitions = list_of(where, "partition");
  for (std::string& name : names_in(where, "")) (user ? users : accounts).push_back(std::move(name));
  const accounts::AccountBook& book = session.book();
  for (const std::string& cluster : *clusters) {
    for (const uint32_t id : book.in_tree_order(book.root_of(cluster))) {
      const AssociationRecord& one = *book.association(id);
      if (one.user().empty() == user) continue;
      if (user && !users.empty() && !contains(users, one.user())) continue;
      if (!accounts.empty() && !contains(accounts, one.account())) continue;
      if (!partitions.empty() && !contains(partitions, one.partition())) continue;
      found.push_back(&one);
    }
  }
  return found;
}

int nothing_modified(const AccountingSession& session, const std::string& kind) {
  if (spoken_release() < kSlurm24) return session.nothing("modified");
  if (spoken_release() < kSlurm26)
    return refuse(
        "sacctmgr: error: Request didn't affect anything\n"
        " Error with request: Data has not changed since time specified");
  session.say(" Modified " + kind + " associations...\n  Nothing modified\n");
  return 1;
}

namespace {

// Whether an association has no value of its own for what this word sets, and so takes its account's. Of what
// is not handed down nothing is taken.
bool takes_from_account(const AssociationRecord& one, const Word& word) {
  const model::Limits& limits = one.limits();
  const std::string& name = word.name;
  if (name == "maxjobs") return !limits.has_max_jobs();
  if (name == "maxjobsaccrue") return !limits.has_max_jobs_accrue();
  if (name == "maxsubmitjobs") return !limits.has_max_submit_jobs();
  if (name == "maxwall") return !limits.has_max_wall();
  if (name == "minpriothreshold") return !limits.has_min_priority();
  if (name == "maxtres" || name == "maxcpus" || name == "maxnodes") return limits.max_tres().empty();
  if (name == "maxtrespernode") return limits.max_tres_per_node().empty();
  if (name == "maxtresmins" || name == "maxcpumins") return limits.max_tres_mins().empty();
  if (name == "qos") return one.qos().empty();
  if (name == "defaultqos") return one.default_qos().empty();
  return name == "priority" && !one.has_priority();
}

}  // namespace

std::vector<const AssociationRecord*> inheritors(const AccountingSession& session,
                                                 const AssociationRecord& account,
                                                 std::span<const Word> set) {
  std::vector<const AssociationRecord*> found;
  const auto takes = [&](const AssociationRecord& one) {
    return std::any_of(set.begin(), set.end(),
                       [&](const Word& word) { return takes_from_account(one, word); });
  };
  std::set<std::string> open = {account.account()};  // accounts that hand it on
  for (const uint32_t id : session.book().in_tree_order(account.id())) {
    const AssociationRecord& one = *session.book().association(id);
    if (id == account.id()) continue;
    const bool user = !one.user().empty();
    if (!open.contains(user ? one.account() : one.parent_account()) || !takes(one)) continue;
    if (user) found.push_back(&one);
    if (!user) open.insert(one.account());
  }
  return found;
}

Result<bool> modify_associations(AccountingSession& session, const Words& words,
                                 const std::vector<const AssociationRecord*>& found,
                                 const std::function<bool(const Word&)>& other) {
  bool any = false;
  for (const AssociationRecord* one : found) {
    AssociationRecord record = *one;
    const Status done = apply_settings(words.set, record, session.book(), any, other);
    if (!done) return failure(done.error());
    if (any) session.change.associations.push_back(std::move(record));
  }
  return any;
}

int reset_usage(AccountingSession& session, const std::vector<const AssociationRecord*>& found,
                const Word& word) {
  if (word.value != "0") return refuse(" RawUsage can only be set to 0 (zero)");
  for (const AssociationRecord* one : found) session.reset_usage.push_back(one->id());
  return found.empty() ? session.nothing("modified") : session.commit();
}

}  // namespace minke::cli
