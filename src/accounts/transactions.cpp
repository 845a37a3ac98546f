#include "accounts/transactions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "accounts/account_book.h"
#include "model/accounts.pb.h"

namespace minke::accounts {
namespace {

using model::Transaction;
using Settings = std::vector<std::pair<std::string, std::string>>;  // a column and its value
using Transactions = std::vector<Transaction>;

std::string sql_text(const std::string& text) {
  return "'" + text + "'";
}

std::string in_words(const Settings& settings) {
  std::string words;
  for (const auto& [column, value] : settings) words += (words.empty() ? "" : ", ") + column + "=" + value;
  return words;
}

// Those of `after` that are not in `before`.
Settings changed(const Settings& before, const Settings& after) {
  Settings settings;
  for (const auto& one : after) {
    if (std::find(before.begin(), before.end(), one) == before.end()) settings.push_back(one);
  }
  return settings;
}

void add(Transactions& all, const std::string& action, const std::string& where, const std::string& info) {
  Transaction& one = all.emplace_back();
  one.set_action(action);
  one.set_where(where);
  one.set_info(info);
}

std::string number(bool has, uint64_t value) {
  return has ? std::to_string(value) : "NULL";
}

template <typename List>
std::string listed(const List& list) {
  std::string words;
  for (const auto& one : list) words += "," + one;
  return sql_text(words);
}

std::string tres_text(const google::protobuf::RepeatedPtrField<model::Tres>& list) {
  std::string words;
  for (const model::Tres& one : list)
    words += (words.empty() ? "" : ",") + one.name() + "=" + std::to_string(one.count());
  return sql_text(words);
}

void append_tres(Settings& settings, const char* column,
                 const google::protobuf::RepeatedPtrField<model::Tres>& list) {
  settings.emplace_back(column, tres_text(list));
}

Settings settings_of(const model::AccountRecord& account) {
  return {{"description", sql_text(account.description())},
          {"organization", sql_text(account.organization())}};
}

Settings settings_of(const model::UserRecord& user) {
  return {{"admin_level", std::to_string(user.admin_level() + 1)}};
}

Settings settings_of(const model::AssociationRecord& one) {
  const model::Limits& limits = one.limits();
  Settings settings = {
      {"parent_acct", sql_text(one.parent_account())},
      {"shares", std::to_string(one.shares())},
      {"grp_jobs", number(limits.has_grp_jobs(), limits.grp_jobs())},
      {"grp_jobs_accrue", number(limits.has_grp_jobs_accrue(), limits.grp_jobs_accrue())},
      {"grp_submit_jobs", number(limits.has_grp_submit_jobs(), limits.grp_submit_jobs())},
      {"grp_wall", number(limits.has_grp_wall(), limits.grp_wall())},
      {"max_jobs", number(limits.has_max_jobs(), limits.max_jobs())},
      {"max_jobs_accrue", number(limits.has_max_jobs_accrue(), limits.max_jobs_accrue())},
      {"min_prio_thresh", number(limits.has_min_priority(), limits.min_priority())},
      {"max_submit_jobs", number(limits.has_max_submit_jobs(), limits.max_submit_jobs())},
      {"max_wall_pj", number(limits.has_max_wall(), limits.max_wall())},
      {"priority", number(one.has_priority(), one.priority())},
      {"def_qos", sql_text(one.default_qos())},
      {"qos", listed(one.qos())},
  };
  append_tres(settings, "grp_tres", limits.grp_tres());
  append_tres(settings, "grp_tres_mins", limits.grp_tres_mins());
  append_tres(settings, "grp_tres_run_mins", limits.grp_tres_run_mins());
  append_tres(settings, "max_tres_pj", limits.max_tres());
  append_tres(settings, "max_tres_pn", limits.max_tres_per_node());
  append_tres(settings, "max_tres_mins_pj", limits.max_tres_mins());
  return settings;
}

Settings settings_of(const model::QosRecord& qos) {
  const model::Limits& limits = qos.limits();
  Settings settings = {
      {"description", sql_text(qos.description())},
      {"flags", listed(qos.flags())},
      {"grace_time", std::to_string(qos.grace_seconds())},
      {"grp_jobs", number(limits.has_grp_jobs(), limits.grp_jobs())},
      {"grp_submit_jobs", number(limits.has_grp_submit_jobs(), limits.grp_submit_jobs())},
      {"grp_wall", number(limits.has_grp_wall(), limits.grp_wall())},
      {"max_jobs_pa", number(limits.has_max_jobs_per_account(), limits.max_jobs_per_account())},
      {"max_jobs_per_user", number(limits.has_max_jobs(), limits.max_jobs())},
      {"max_submit_jobs_per_user", number(limits.has_max_submit_jobs(), limits.max_submit_jobs())},
      {"max_wall_duration_per_job", number(limits.has_max_wall(), limits.max_wall())},
      {"preempt", listed(qos.preempt())},
      {"preempt_mode", sql_text(qos.preempt_mode())},
      {"priority", std::to_string(qos.priority())},
      {"usage_factor", std::to_string(qos.has_usage_factor() ? qos.usage_factor() : 1.0)},
  };
  append_tres(settings, "grp_tres", limits.grp_tres());
  append_tres(settings, "grp_tres_mins", limits.grp_tres_mins());
  append_tres(settings, "max_tres_pj", limits.max_tres());
  append_tres(settings, "max_tres_pu", limits.max_tres_per_user());
  append_tres(settings, "max_tres_pa", limits.max_tres_per_account());
  append_tres(settings, "min_tres_pj", limits.min_tres());
  return settings;
}

Settings settings_of(const model::ClusterRecord& cluster) {
  return {{"classification", sql_text(cluster.classification())},
          {"federation", sql_text(cluster.federation())},
          {"fed_id", std::to_string(cluster.federation_id())},
          {"fed_state", sql_text(cluster.federation_state())},
          {"features", listed(cluster.features())}};
}

Settings settings_of(const model::ResourceRecord& resource) {
  std::string shares;
  for (const auto& share : resource.shares())
    shares += "," + share.cluster() + ":" + std::to_string(share.percent());
  return {{"count", std::to_string(resource.count())},
          {"description", sql_text(resource.description())},
          {"allowed", sql_text(shares)}};
}

// The words of a kind of record: what it is called, and how one of them is named.
struct Kind {
  std::string name;
  std::string (*added)(const std::string& key);
  std::string (*modified)(const std::string& key);
  std::string (*removed)(const std::string& key);
  bool tells_settings = true;  // of a new one
};

std::string itself(const std::string& key) {
  return key;
}
std::string named(const std::string& key) {
  return "(name='" + key + "')";
}
std::string one_of(const std::string& key) {
  return "name in('" + key + "')";
}
std::string equal(const std::string& key) {
  return "name='" + key + "'";
}

const Kind kAccounts = {"Accounts", itself, named, one_of};
const Kind kUsers = {"Users", itself, named, one_of, false};
const Kind kQos = {"QOS", itself, named, one_of};
const Kind kClusters = {"Clusters", itself, equal, equal};
const Kind kResources = {"Resources", itself, named, one_of};

const std::string& key_of(const model::QosRecord& qos, uint32_t) {
  return qos.name();
}
const std::string& key_of(const auto&, const std::string& key) {
  return key;
}

template <typename Records>
void compare(Transactions& all, const Kind& kind, const Records& before, const Records& after) {
  for (const auto& [key, record] : before) {
    if (!after.contains(key)) add(all, "Remove " + kind.name, kind.removed(key_of(record, key)), "");
  }
  for (const auto& [key, record] : after) {
    const auto was = before.find(key);
    const std::string& name = key_of(record, key);
    if (was == before.end()) {
      add(all, "Add " + kind.name, kind.added(name),
          kind.tells_settings ? in_words(settings_of(record)) : "");
    } else if (const auto other = changed(settings_of(was->second), settings_of(record)); !other.empty()) {
      add(all, "Modify " + kind.name, kind.modified(name), in_words(other));
    }
  }
}

void compare_coordinators(Transactions& all, const AccountBook& before, const AccountBook& after) {
  const auto has = [](const AccountBook& book, const std::string& account, const std::string& user) {
    const auto found = book.accounts().find(account);
    if (found == book.accounts().end()) return false;
    const auto& list = found->second.coordinators();
    return std::find(list.begin(), list.end(), user) != list.end();
  };
  for (const auto& [name, account] : before.accounts()) {
    for (const std::string& user : account.coordinators()) {
      if (!has(after, name, user))
        add(all, "Remove Account Coords", "(user='" + user + "') && (acct='" + name + "')", "");
    }
  }
  for (const auto& [name, account] : after.accounts()) {
    for (const std::string& user : account.coordinators()) {
      if (!has(before, name, user)) add(all, "Add Account Coord", user, name);
    }
  }
}

Settings place_of(const model::AssociationRecord& one) {
  Settings settings = {{"acct", sql_text(one.account())}, {"user", sql_text(one.user())}};
  if (!one.partition().empty()) settings.emplace_back("`partition`", sql_text(one.partition()));
  return settings;
}

void compare_associations(Transactions& all, const AccountBook& before, const AccountBook& after) {
  for (const auto& [id, one] : before.associations()) {
    const bool alone = after.accounts().contains(one.account()) &&
                       (one.user().empty() || after.users().contains(one.user()));
    if (after.association(id) == nullptr && alone)
      add(all, "Remove Associations", "id_assoc=" + std::to_string(id), "");
  }
  for (const auto& [id, one] : after.associations()) {
    const std::string where = "id_assoc=" + std::to_string(id);
    const auto* was = before.association(id);
    if (was == nullptr) {
      add(all, "Add Associations", where, in_words(place_of(one)) + ", " + in_words(settings_of(one)));
    } else if (const auto other = changed(settings_of(*was), settings_of(one)); !other.empty()) {
      add(all, "Modify Associations", "(" + where + ")", in_words(other));
    }
  }
}

}  // namespace

std::vector<Transaction> transactions_between(const AccountBook& before, const AccountBook& after) {
  Transactions all;
  compare(all, kClusters, before.clusters(), after.clusters());
  compare(all, kAccounts, before.accounts(), after.accounts());
  compare(all, kUsers, before.users(), after.users());
  compare_coordinators(all, before, after);
  compare(all, kQos, before.qos(), after.qos());
  compare_associations(all, before, after);
  compare(all, kResources, before.resources(), after.resources());
  return all;
}

}  // namespace minke::accounts
