// Actions: what commands do to jobs: cancel, signal, hold, release, requeue, suspend, reorder, notify,
// update. Each names jobs, arrays or array tasks. Its answer follows once the changes are durable, with one
// failure for each job that could not be changed. State's thread.
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
    int64_t first_sent = 0;  // not 0: the request may have been carried out since then (rpc/messages.proto)
    std::string key;         // not empty: the answer is noted under it
  };

  void signal(const api::SignalRequest& request, const Sender& sender, Reply reply);
  void hold(const api::HoldRequest& request, const Sender& sender, Reply reply);
  void requeue(const api::RequeueRequest& request, const Sender& sender, Reply reply);
  void suspend(const api::SuspendRequest& request, const Sender& sender, Reply reply);
  void top(const api::TopRequest& request, const Sender& sender, Reply reply);
  void notify(const api::NotifyRequest& request, const Sender& sender, Reply reply);
  void update(const api::UpdateJobRequest& request, const Sender& sender, Reply reply);
  // Makes the training metrics that an ended job wrote part of its record.
  Status keep_metrics(const api::KeepMetricsRequest& request, const rpc::Peer& peer);
  // sacctmgr modify job: changes records of ended jobs, all or none. Until they are stored, the records are
  // charged to the user as if they had sent them.
  struct UpdatedRecords {
    uint32_t jobs = 0;
    Budgets::Charge charge;
  };
  Result<UpdatedRecords> update_records(const api::UpdateRecordsRequest& request, const rpc::Peer& peer);
  void complete_allocation(const api::CompleteAllocationRequest& request, const Sender& sender, Reply reply);

 private:
  using Selectors = ActionOrder::Selectors;
  static ActionOrder order_of(const Sender& sender, Reply reply);
  static Status is_changeable(const Job& job);  // jobs of crontabs change with their crontab alone
  // Returns the selectors plus the jobs with these names that the user may change.
  Selectors named(const Selectors& jobs, const google::protobuf::RepeatedPtrField<std::string>& names,
                  uint32_t uid) const;
  // Loads jobs that ended recently and have left memory, so that they can be requeued.
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
  // Whether the request only reduces the nodes of a running job.
  static bool is_resize(const Job& job, const api::UpdateJobRequest& request);
  Status give_nodes_back(Job& job, const api::Field& field, const model::JobSpec& wanted);
  // Chooses the association after a change of account, QOS or partition. `larger`: it may ask for more now.
  Status charge_anew(Job& job, model::JobSpec& spec, bool larger, uint32_t uid);
  // Checks the limits on submission as if the job were submitted now with this charge. `uid`: who asks;
  // operators may exceed the limits.
  Status admit_anew(Job& job, const model::JobSpec& spec, const Accounts::Charge& charge, uint32_t uid);
  Status update_steps(const Job& job, const api::UpdateJobRequest& request);

  Core& core_;
  OwnerNotices notices_;
  Queries& queries_;
};

}  // namespace minke::engine
