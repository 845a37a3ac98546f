// Crontabs: the crontabs of users, and when the jobs of their entries run again.
//
// The command reads a crontab (submit/crontab.h) and sends a job for each entry. All of them replace those of
// the crontab before, or nothing changes: jobs that wait are cancelled then, those that run end for good. A
// job whose run is over goes back to the queue, for the next time of its entry, as long as the crontab has
// it. A job that is cancelled is in the crontab no more: its lines are disabled.
//
// Invariants: a crontab lists its jobs, so that a job whose crontab was never stored does not recur. Texts
// and entries are bounded. A user's crontab is changed by the user or root, and seen by operators. State's
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "api/actions.pb.h"
#include "base/result.h"
#include "engine/embedded/job_events.h"
#include "model/crontab.pb.h"
#include "rpc/socket.h"

namespace minke::api {
class CrontabReply;
class SubmitRequest;
class UpdateCrontabRequest;
}  // namespace minke::api

namespace minke::store {
class LoadedRows;
}  // namespace minke::store

namespace minke::engine {

struct Core;
class Submitting;

class Crontabs : public JobListener {
 public:
  explicit Crontabs(Core& core) : core_(core) {}

  void restore(store::LoadedRows& rows);
  void recovered();  // the jobs are there: those that no crontab has are cancelled

  Status query(uint32_t of, uint32_t asker, api::CrontabReply& reply) const;
  using Reply = std::function<void(Result<api::ActionReply>)>;
  void update(const api::UpdateCrontabRequest& request, const rpc::Peer& asker, Submitting& submitting,
              Reply reply);
  Status remove(uint32_t of, uint32_t asker);

  int64_t next_run(const Job& job) const override;
  void job_ended(Job& job, bool ran) override;

 private:
  Result<rpc::Peer> owner_of(const api::UpdateCrontabRequest& request, const rpc::Peer& asker) const;
  Result<std::vector<api::SubmitRequest>> entries_of(const api::UpdateCrontabRequest& request) const;
  void replace(model::CrontabRecord crontab);
  void cancel_waiting(const std::vector<uint32_t>& jobs, uint32_t by_uid);
  bool has(const Job& job) const;

  Core& core_;
  std::map<uint32_t, model::CrontabRecord> crontabs_;  // by user
};

}  // namespace minke::engine
