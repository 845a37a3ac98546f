// What commands do to jobs: cancel, signal, hold, release, requeue, suspend, reorder, notify, update. Each
// names jobs, arrays or tasks of arrays, and gets an answer once the changes are durable, with one failure
// for each job that could not be changed. State's thread.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/life_cycle/action_work.h"
#include "engine/embedded/server/budgets.h"
#include "engine/embedded/state/job.h"
#include "engine/embedded/watching/owner_notices.h"
#include "model/error.h"
#include "rpc/socket.h"

namespace minke::api {
class ActionReply;
class CompleteAllocationRequest;
class Field;
class HoldRequest;
class KeepMetricsRequest;
class NotifyRequest;
class RequeueRequest;
class SignalRequest;
class SuspendRequest;
class TopRequest;
class UpdateJobRequest;
class UpdateRecordsRequest;
}  // namespace minke::api

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::engine {

struct Core;
class Queries;

class Actions {
 public:
  Actions(Core& core, Queries& queries);
  using Reply = std::function<void(const api::ActionReply& reply)>;
  struct Sender {
    uint32_t uid = 0;
    int64_t first_sent = 0;  // not 0: it may have been carried out since then (rpc/messages.proto)
  };

  void signal(const api::SignalRequest& request, const Sender& sender, Reply reply);
  void hold(const api::HoldRequest& request, const Sender& sender, Reply reply);
  void requeue(const api::RequeueRequest& request, const Sender& sender, Reply reply);
  void suspend(const api::SuspendRequest& request, const Sender& sender, Reply reply);
  void top(const api::TopRequest& request, const Sender& sender, Reply reply);
  void notify(const api::NotifyRequest& request, const Sender& sender, Reply reply);
  void update(const api::UpdateJobRequest& request, const Sender& sender, Reply reply);
  // What an ended job wrote down of its training becomes part of its record.
  Status keep_metrics(const api::KeepMetricsRequest& request, const rpc::Peer& peer);
  // What is said of ended jobs afterwards: sacctmgr modify job. All of it or nothing. The records are charged
  // to who asks, as if he had sent them: until they are stored.
  struct UpdatedRecords {
    uint32_t jobs = 0;
    Budgets::Charge charge;
  };
  Result<UpdatedRecords> update_records(const api::UpdateRecordsRequest& request, const rpc::Peer& peer);
  void complete_allocation(const api::CompleteAllocationRequest& request, const Sender& sender, Reply reply);

 private:
  using Selectors = ActionOrder::Selectors;
  static ActionOrder order_of(const Sender& sender, Reply reply);
  // With the jobs of these names that the user may change.
  Selectors named(const Selectors& jobs, const google::protobuf::RepeatedPtrField<std::string>& names,
                  uint32_t uid) const;
  // Jobs that ended not long ago and have left memory are taken back into it, to be requeued.
  void bring_back(const Selectors& selectors, uint32_t uid, std::function<void()> then);
  void check_top(const std::vector<MeantJob>& meant, uint32_t uid, api::ActionReply& result) const;
  std::vector<Job*> separate_meant(const std::vector<MeantJob>& meant, api::ActionReply& result);
  void put_first(std::vector<Job*> order);
  Status signal_job(Job& job, const api::SignalRequest& request, uint32_t uid);
  Status admits_update(const Job& job, const model::JobSpec& spec, uint32_t uid) const;
  Status update_job(Job& job, const api::UpdateJobRequest& request, uint32_t uid);
  struct Changes;
  Result<Changes> apply_fields(const Job& job, const api::UpdateJobRequest& request,
                               model::JobSpec& spec) const;
  Status check_state(const Job& job, const model::JobSpec& spec, const Changes& changes) const;
  Status check_place(Job& job, model::JobSpec& spec, const Changes& changes, uint32_t uid);
  void set_priority(Job& job, const model::JobSpec& spec);
  void take_over(Job& job, model::JobSpec& spec, const Changes& changes);
  // Of a running job, nothing but its nodes.
  static bool is_resize(const Job& job, const api::UpdateJobRequest& request);
  Status give_nodes_back(Job& job, const api::Field& field, const model::JobSpec& wanted);
  // Another account, QOS or partition: the association may be another too. `larger`: it may ask for more.
  Status charge_anew(Job& job, model::JobSpec& spec, bool larger, uint32_t uid);
  // As if it were submitted now, under this charge: limits on what may be submitted hold. `uid`: who asks;
  // operators may pass them.
  Status admit_anew(Job& job, const model::JobSpec& spec, const Accounts::Charge& charge, uint32_t uid);
  Status update_steps(const Job& job, const api::UpdateJobRequest& request);

  Core& core_;
  OwnerNotices notices_;
  Queries& queries_;
};

}  // namespace minke::engine
