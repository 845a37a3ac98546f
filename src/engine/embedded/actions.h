// What commands do to jobs: cancel, signal, hold, release, requeue, suspend, reorder, notify, update. Each
// names jobs, arrays or tasks of arrays, and gets an answer once the changes are durable, with one failure
// for each job that could not be changed. State's thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/embedded/job.h"
#include "engine/embedded/owner_notices.h"
#include "model/error.h"
#include "rpc/messages.pb.h"
#include "rpc/socket.h"

namespace minke::engine {

struct Core;
class Queries;

class Actions {
 public:
  Actions(Core& core, Queries& queries);
  using Reply = std::function<void(const rpc::ActionReply& reply)>;

  void signal(const rpc::SignalRequest& request, const rpc::Peer& peer, Reply reply);
  void hold(const rpc::HoldRequest& request, const rpc::Peer& peer, Reply reply);
  void requeue(const rpc::RequeueRequest& request, const rpc::Peer& peer, Reply reply);
  void suspend(const rpc::SuspendRequest& request, const rpc::Peer& peer, Reply reply);
  void top(const rpc::TopRequest& request, const rpc::Peer& peer, Reply reply);
  void notify(const rpc::NotifyRequest& request, const rpc::Peer& peer, Reply reply);
  void update(const rpc::UpdateJobRequest& request, const rpc::Peer& peer, Reply reply);
  // What an ended job wrote down of its training becomes part of its record.
  Status keep_metrics(const rpc::KeepMetricsRequest& request, const rpc::Peer& peer);
  // What is said of ended jobs afterwards: sacctmgr modify job. All of it or nothing; how many jobs there
  // are.
  Result<uint32_t> update_records(const rpc::UpdateRecordsRequest& request, const rpc::Peer& peer);
  void complete_allocation(const rpc::CompleteAllocationRequest& request, const rpc::Peer& peer, Reply reply);

 private:
  using Selectors = google::protobuf::RepeatedPtrField<rpc::JobSelector>;
  // The jobs that a selector means. Tasks that wait are split off when they are named one by one.
  // With `together` several of them get one record.
  std::vector<Job*> resolve(const rpc::JobSelector& selector, bool together = false);
  // Applies `action` to each job of the selectors.
  void for_each(const Selectors& selectors, const rpc::Peer& peer, const Reply& reply,
                const std::function<Status(Job&)>& action, model::SlurmError when_ended = model::kAlreadyDone,
                bool together = false);
  // With the jobs of these names that the peer may change.
  Selectors named(const Selectors& jobs, const google::protobuf::RepeatedPtrField<std::string>& names,
                  const rpc::Peer& peer) const;
  // Jobs that ended not long ago and have left memory are taken back into it, to be requeued.
  void bring_back(const Selectors& selectors, std::function<void()> then);
  Status admits_update(const Job& job, const model::JobSpec& spec, uint32_t uid) const;
  Status update_job(Job& job, const rpc::UpdateJobRequest& request, uint32_t uid);
  // Of a running job, nothing but its nodes.
  static bool is_resize(const Job& job, const rpc::UpdateJobRequest& request);
  Status give_nodes_back(Job& job, const rpc::Field& field, const model::JobSpec& wanted);
  // Another account, QOS or partition: the association may be another too.
  Status charge_anew(Job& job, model::JobSpec& spec);
  Status update_steps(const Job& job, const rpc::UpdateJobRequest& request);
  bool filter_matches(const rpc::JobFilter& filter, const Job& job);

  Core& core_;
  OwnerNotices notices_;
  Queries& queries_;
};

}  // namespace minke::engine
