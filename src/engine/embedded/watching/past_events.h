// PastEvents: times in which nodes could not be used, and changes of the accounts: what sacctmgr lists as
// events and as transactions.
//
// Invariants: a node has at most one event that lasts. It lasts as long as the node's state; another reason
// alone begins no other event, as in Slurm. A daemon that restarts goes on with the events that last. Both
// lists are bounded: the oldest records that are over are forgotten. Everybody may see them. State's thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "engine/embedded/cluster_events.h"
#include "model/history.pb.h"

namespace minke::accounts {
class AccountBook;
}  // namespace minke::accounts

namespace minke::api {
class HistoryReply;
class QueryHistoryRequest;
}  // namespace minke::api

namespace minke::store {
class LoadedRows;
}  // namespace minke::store

namespace minke::engine {

struct Core;

class PastEvents : public ClusterListener {
 public:
  explicit PastEvents(Core& core) : core_(core) {}

  void restore(store::LoadedRows& rows);  // after the nodes

  void node_changed(const model::NodeRecord& node) override;
  void accounts_changed(const accounts::AccountBook& before, const accounts::AccountBook& after,
                        uint32_t uid);
  void query(const api::QueryHistoryRequest& request, api::HistoryReply& reply) const;

 private:
  void keep(const model::NodeEvent& event);
  void forget_old();

  Core& core_;
  std::map<std::string, model::NodeEvent> events_;  // by the key of their rows: in the order of time
  std::map<std::string, std::string> lasting_;      // by node: the key of the event that it is in
  std::map<uint64_t, model::Transaction> transactions_;
};

}  // namespace minke::engine
