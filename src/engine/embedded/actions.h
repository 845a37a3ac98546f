// What commands do to jobs: cancel, signal, hold, release, requeue, update. Each names jobs, arrays or tasks
// of arrays, and gets an answer once the changes are durable, with one failure for each job that could not be
// changed. State's thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/embedded/job.h"
#include "model/error.h"
#include "rpc/messages.pb.h"
#include "rpc/socket.h"

namespace minke::engine {

struct Core;
class Queries;

class Actions {
 public:
  Actions(Core& core, Queries& queries) : core_(core), queries_(queries) {}
  using Reply = std::function<void(const rpc::ActionReply& reply)>;

  void signal(const rpc::SignalRequest& request, const rpc::Peer& peer, Reply reply);
  void hold(const rpc::HoldRequest& request, const rpc::Peer& peer, Reply reply);
  void requeue(const rpc::RequeueRequest& request, const rpc::Peer& peer, Reply reply);
  void update(const rpc::UpdateJobRequest& request, const rpc::Peer& peer, Reply reply);
  void complete_allocation(const rpc::CompleteAllocationRequest& request, const rpc::Peer& peer, Reply reply);

 private:
  // The jobs that a selector means. Tasks that wait are split off when they are named one by one.
  std::vector<Job*> resolve(const rpc::JobSelector& selector);
  // Applies `action` to each job of the selectors.
  template <typename Selectors, typename Action>
  void for_each(const Selectors& selectors, const rpc::Peer& peer, Reply reply, Action action,
                model::SlurmError when_ended = model::kAlreadyDone);
  Status update_job(Job& job, const rpc::UpdateJobRequest& request);
  bool filter_matches(const rpc::JobFilter& filter, const Job& job);

  Core& core_;
  Queries& queries_;
};

}  // namespace minke::engine
