#include "engine/embedded/watching/past_events.h"

#include <algorithm>
#include <set>
#include <utility>

#include "accounts/account_book.h"
#include "accounts/transactions.h"
#include "api/history.pb.h"
#include "engine/embedded/accounts/users.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/nodes.h"
#include "model/cluster.pb.h"
#include "store/loaded_rows.h"
#include "store/tables.h"
#include "text/gres_count.h"
#include "text/hostlist.h"

namespace minke::engine {

using model::NodeEvent;
using model::NodeRecord;

namespace {

constexpr size_t kMostEvents = 4000;
constexpr size_t kMostTransactions = 4000;

// Empty: the node can be used, or is not meant to be there.
std::string state_in_words(const NodeRecord& node) {
  switch (node.state()) {
    case model::NODE_DOWN:
      return "DOWN";
    case model::NODE_DRAIN:
      return "DRAIN";
    case model::NODE_DOWN_DRAIN:
      return "DOWN+DRAIN";
    case model::NODE_FAIL:
      return "FAIL";
    default:
      return {};
  }
}

std::string tres_of(const NodeRecord& node) {
  const std::string cpus = std::to_string(node.cpus());
  std::string tres = "billing=" + cpus + ",cpu=" + cpus;
  const uint64_t gpus = text::gpus_in(node.gres());
  if (gpus > 0) tres += ",gres/gpu=" + std::to_string(gpus);
  return tres + ",mem=" + std::to_string(node.memory_mib()) + "M";
}

// Whether any of `event` was between the bounds.
bool was_within(int64_t start, int64_t end, const api::QueryHistoryRequest& request) {
  return (request.from() == 0 || end == 0 || end >= request.from()) &&
         (request.until() == 0 || start <= request.until());
}

}  // namespace

void PastEvents::restore(store::LoadedRows& rows) {
  for (NodeEvent& event : rows.read(store::kNodeEvents)) {
    std::string key = store::ByStartAndNode::of(event);
    if (event.end() == 0) lasting_.insert_or_assign(event.node(), key);
    events_.emplace(std::move(key), std::move(event));
  }
  for (model::Transaction& one : rows.read(store::kTransactions)) {
    const uint64_t id = one.id();
    transactions_.emplace(id, std::move(one));
  }
  // A node of the time before events were kept, or that is no longer out of use.
  for (const NodeRecord& node : core_.nodes->nodes()) node_changed(node);
}

void PastEvents::node_changed(const NodeRecord& node) {
  const std::string state = state_in_words(node);
  const auto present = lasting_.find(node.name());
  if (present != lasting_.end()) {
    NodeEvent& event = events_.at(present->second);
    if (event.state() == state) return;
    event.set_end(core_.now());
    keep(event);
    lasting_.erase(present);
  }
  if (state.empty()) return;
  NodeEvent event;
  event.set_node(node.name());
  event.set_start(core_.now());
  event.set_state(state);
  event.set_reason(node.reason());
  event.set_uid(node.reason_uid());
  event.set_tres(tres_of(node));
  const std::string key = store::ByStartAndNode::of(event);
  keep(event);
  events_.insert_or_assign(key, std::move(event));
  lasting_.insert_or_assign(node.name(), key);
  forget_old();
}

void PastEvents::accounts_changed(const accounts::AccountBook& before, const accounts::AccountBook& after,
                                  uint32_t uid) {
  for (model::Transaction& one : accounts::transactions_between(before, after)) {
    const uint64_t id = transactions_.empty() ? 1 : transactions_.rbegin()->first + 1;
    one.set_id(id);
    one.set_time(core_.now());
    one.set_actor(user_name_of(uid));
    core_.committer.row_changed(store::kTransactions.row(one));
    transactions_.emplace(id, std::move(one));
  }
  while (transactions_.size() > kMostTransactions) {
    core_.committer.row_changed(store::kTransactions.no_row(transactions_.begin()->first));
    transactions_.erase(transactions_.begin());
  }
}

void PastEvents::query(const api::QueryHistoryRequest& request, api::HistoryReply& reply) const {
  reply.set_now(core_.now());
  std::set<std::string> wanted;
  if (auto names = text::expand_hostlist(request.node_list())) wanted = {names->begin(), names->end()};
  const auto is_wanted = [&](const NodeEvent& event) {
    return (request.node_list().empty() || wanted.contains(event.node())) &&
           was_within(event.start(), event.end(), request);
  };
  if (request.node_events()) {
    for (const auto& [key, event] : events_) {
      if (is_wanted(event)) *reply.add_node_events() = event;
    }
  }
  if (!request.transactions()) return;
  for (const auto& [id, one] : transactions_) {
    if (was_within(one.time(), one.time(), request)) *reply.add_transactions() = one;
  }
}

void PastEvents::keep(const NodeEvent& event) {
  core_.committer.row_changed(store::kNodeEvents.row(event));
}

void PastEvents::forget_old() {
  for (auto at = events_.begin(); at != events_.end() && events_.size() > kMostEvents;) {
    if (at->second.end() == 0) {
      ++at;
      continue;
    }
    core_.committer.row_changed(store::kNodeEvents.no_row(at->first));
    at = events_.erase(at);
  }
}

}  // namespace minke::engine
