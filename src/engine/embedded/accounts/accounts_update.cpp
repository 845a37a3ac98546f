// Changes of the tree of accounts, in the book and in the store.
#include <unistd.h>

#include <algorithm>
#include <set>

#include "accounts/coordinators.h"
#include "api/accounts.pb.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/core.h"
#include "model/error.h"
#include "store/tables.h"

namespace minke::engine {

using namespace model;

namespace {

UsageRecord record_of(uint32_t id, const accounts::Usage& usage, int64_t time) {
  UsageRecord record;
  record.set_id(id);
  record.set_time(time);
  record.set_raw(usage.raw);
  record.set_wall_seconds(usage.wall_seconds);
  for (const auto& [name, seconds] : usage.tres) {
    TresSeconds& one = *record.add_tres();
    one.set_name(name);
    one.set_seconds(seconds);
  }
  return record;
}

template <typename List>
auto values(const List& list) {
  return std::vector(list.begin(), list.end());
}

accounts::AccountsChange change_of(const api::UpdateAccountsRequest& request) {
  accounts::AccountsChange change;
  change.accounts = values(request.accounts());
  change.users = values(request.users());
  change.associations = values(request.associations());
  change.qos = values(request.qos());
  change.removed_accounts = values(request.removed_accounts());
  change.removed_users = values(request.removed_users());
  change.removed_associations = values(request.removed_associations());
  change.removed_qos = values(request.removed_qos());
  change.clusters = values(request.clusters());
  change.federations = values(request.federations());
  change.resources = values(request.resources());
  change.removed_clusters = values(request.removed_clusters());
  change.removed_federations = values(request.removed_federations());
  change.removed_resources = values(request.removed_resources());
  return change;
}

}  // namespace

void Accounts::store_usage(uint32_t association) {
  const auto found = usage_.associations().find(association);
  core_.committer.row_changed(
      found == usage_.associations().end()
          ? store::kUsage.no_row(association)
          : store::kUsage.row(record_of(association, found->second.usage, found->second.time)));
}

void Accounts::store_qos_usage(uint32_t qos) {
  const auto found = usage_.qos().find(qos);
  core_.committer.row_changed(
      found == usage_.qos().end()
          ? store::kQosUsage.no_row(qos)
          : store::kQosUsage.row(record_of(qos, found->second.usage, found->second.time)));
}

void Accounts::query(const api::QueryAccountsRequest& request, api::AccountsReply& reply) {
  reply.set_version(book_.version());
  reply.set_now(core_.now());
  reply.set_usage_half_life(static_cast<uint64_t>(core_.config.priority.half_life));
  for (const auto& [name, record] : book_.accounts()) *reply.add_accounts() = record;
  for (const auto& [name, record] : book_.users()) *reply.add_users() = record;
  for (const auto& [id, record] : book_.qos()) *reply.add_qos() = record;
  for (const auto& [name, record] : book_.federations()) *reply.add_federations() = record;
  for (const auto& [name, record] : book_.resources()) *reply.add_resources() = record;
  for (const auto& [name, record] : book_.clusters()) {
    *reply.add_clusters() = record;
    if (name.empty()) continue;
    for (const uint32_t id : book_.in_tree_order(book_.root_of(name)))
      *reply.add_foreign_associations() = *book_.association(id);
  }
  if (request.with_usage()) calculate();
  const auto promised =
      request.with_usage() ? ledger_.promised_in_all(core_.now()) : accounts::UsageBook::Totals();
  const auto shares = request.with_usage() ? shares_in_effect() : std::unordered_map<uint32_t, uint32_t>();
  for (const uint32_t id : book_.in_tree_order()) {
    *reply.add_associations() = *book_.association(id);
    if (!request.with_usage()) continue;
    const auto total = totals_->find(id);
    *reply.add_usage() =
        record_of(id, total == totals_->end() ? accounts::Usage() : total->second, core_.now());
    const auto runs = promised.find(id);
    *reply.add_running() =
        record_of(id, runs == promised.end() ? accounts::Usage() : runs->second, core_.now());
    reply.add_fair_share(fair_share(id));
    reply.add_shares(shares.at(id));
  }
  if (!request.with_usage()) return;
  for (const auto& [id, total] : *qos_totals_) *reply.add_qos_usage() = record_of(id, total, core_.now());
}

Status Accounts::check_update(const api::UpdateAccountsRequest& request,
                              const accounts::AccountsChange& change) const {
  if (request.version() != book_.version())
    return failure("the accounts have been changed by somebody else meanwhile: try again", kTransitionState);
  std::set<uint32_t> gone(change.removed_associations.begin(), change.removed_associations.end());
  const std::set<std::string> accounts(change.removed_accounts.begin(), change.removed_accounts.end());
  const std::set<std::string> users(change.removed_users.begin(), change.removed_users.end());
  for (const auto& [id, one] : book_.associations()) {
    if (accounts.contains(one.account()) || (!one.user().empty() && users.contains(one.user())))
      gone.insert(id);
  }
  for (const uint32_t id : gone) {
    if (ledger_.has_active_jobs(id))
      return failure("Job(s) active, cancel job(s) before remove", kAccessDenied);
  }
  for (const uint32_t id : change.removed_qos) {
    if (ledger_.qos_use(id).submitted > 0)
      return failure("Job(s) active, cancel job(s) before remove", kAccessDenied);
  }
  return {};
}

Status Accounts::admits_coordinator(const std::string& user,
                                    const api::UpdateAccountsRequest& request) const {
  if (!accounts::is_coordinator(book_, user)) return failure("", kAccessDenied);
  if (request.reset_usage_size() + request.reset_qos_usage_size() > 0)
    return failure("usage is set back by operators", kAccessDenied);
  // What may be long is not looked at.
  if (request.qos_size() + request.removed_qos_size() + request.clusters_size() +
          request.removed_clusters_size() + request.federations_size() + request.removed_federations_size() +
          request.resources_size() + request.removed_resources_size() >
      0)
    return failure("QOS, clusters and resources are for operators", kAccessDenied);
  accounts::AccountBook after = book_;
  if (!after.apply(change_of(request))) return {};  // update() says what is wrong
  const Status his = accounts::check_coordinator(book_, after, user);
  return his ? Status() : failure(his.error().message, kAccessDenied);
}

Status Accounts::update(const api::UpdateAccountsRequest& request) {
  const accounts::AccountsChange change = change_of(request);
  if (const Status possible = check_update(request, change); !possible) return possible;
  const accounts::AccountBook before = book_;
  if (!change.empty()) {
    if (const Status applied = book_.apply(change); !applied)
      return failure(applied.error().message, kNotSupported);
  }
  store_change(request, before);
  if (request.resources_size() + request.removed_resources_size() > 0)
    core_.cluster_events.tell(&ClusterListener::layout_changed);
  policy_changed();
  return {};
}

void Accounts::store_change(const api::UpdateAccountsRequest& request, const accounts::AccountBook& before) {
  const auto keep = [&](const auto& table, const auto& was, const auto& is) {
    for (const auto& [key, record] : was)
      if (!is.contains(key)) core_.committer.row_changed(table.no_row(key));
    for (const auto& [key, record] : is) {
      const auto old = was.find(key);
      if (old == was.end() || old->second.SerializeAsString() != record.SerializeAsString())
        core_.committer.row_changed(table.row(record));
    }
  };
  keep(store::kAccounts, before.accounts(), book_.accounts());
  keep(store::kUsers, before.users(), book_.users());
  keep(store::kAssociations, before.associations(), book_.associations());
  keep(store::kQos, before.qos(), book_.qos());
  keep(store::kClusters, before.clusters(), book_.clusters());
  keep(store::kFederations, before.federations(), book_.federations());
  keep(store::kResources, before.resources(), book_.resources());
  // From the bottom up, so that the usage of a removed branch goes to what is left above it.
  const auto order = before.in_tree_order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    if (book_.association(*id) != nullptr) continue;
    usage_.merge(*id, before.parent(*id));
    store_usage(*id);
    store_usage(before.parent(*id));
  }
  for (const uint32_t id : request.reset_usage()) {
    for (const uint32_t one : order) {
      if (!before.below(one, id)) continue;
      usage_.clear(one);
      store_usage(one);
    }
  }
  for (const uint32_t id : request.reset_qos_usage()) {
    usage_.clear_qos(id);
    store_qos_usage(id);
  }
}

void Accounts::count_by_partition() {
  for (const auto& [id, job] : core_.state.jobs()) {
    const uint32_t now = qos_of_first_partition(*job);
    if (now != job->partition_qos && (!job->ended() || job->completing)) {
      const bool counted = std::exchange(job->counted, false);
      if (counted) withdraw(*job);
      job->partition_qos = now;
      if (counted) submitted(*job);
    }
    const auto runs = running_.find(id);
    if (job->holds_nodes() && job->details) {
      const uint32_t in_qos = qos_of_partition(job->details->partition);
      if (in_qos == (runs == running_.end() ? 0 : runs->second.partition_qos)) continue;
      ledger_.ended(id);
      job_started(*job, Start::kAdopted);
    }
  }
}

void Accounts::policy_changed() {
  count_by_partition();
  usage_.set_half_life(core_.config.priority.half_life);
  stale_ = true;
  calculate();
  group_ids_.clear();
  first_group_ = next_group_;
  core_.cluster_events.tell(&ClusterListener::limits_changed);
}

}  // namespace minke::engine
