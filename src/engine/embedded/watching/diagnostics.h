// Diagnostics: counters of what the daemon has done since its start or since the last reset, for sdiag.
//
// No decision depends on them, and they are not stored. State's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "api/diagnostics.pb.h"
#include "engine/embedded/server/request_kind.h"
#include "sched/pass.h"

namespace minke::api {
class CycleStatistics;
class DiagnosticsReply;
}  // namespace minke::api

namespace minke::model {
enum JobState : int;
enum StateReason : int;
}  // namespace minke::model

namespace minke::engine {

class Diagnostics {
 public:
  explicit Diagnostics(std::function<int64_t()> wall_clock);

  void jobs_submitted(uint64_t count) { submitted_ += count; }
  void job_started() { ++started_; }
  void job_ended(model::JobState state, model::StateReason reason);
  // Counts a scheduling pass over a queue of that length.
  void pass_made(const sched::PassResult& result, uint64_t queue_length, uint64_t microseconds);
  int64_t last_pass() const { return last_pass_; }  // s since the epoch; 0: none yet
  // Counts a handled request of this kind. `microseconds` excludes later waiting.
  void request_handled(RequestKind kind, uint32_t uid, uint64_t microseconds);

  void reset();
  // Writes everything except jobs pending, jobs running and connections, which the caller knows.
  void write(api::DiagnosticsReply& reply, const std::function<std::string(uint32_t uid)>& user_name) const;

 private:
  struct Requests {
    uint64_t count = 0;
    uint64_t microseconds = 0;
  };

  std::function<int64_t()> now_;  // s since the epoch
  int64_t since_ = 0;
  int64_t last_pass_ = 0;
  uint64_t submitted_ = 0, started_ = 0, completed_ = 0, canceled_ = 0, failed_ = 0;
  uint64_t backfilled_ = 0, backfilled_since_start_ = 0;
  api::CycleStatistics passes_, backfill_passes_;
  std::map<RequestKind, Requests> by_kind_;
  std::map<uint32_t, Requests> by_uid_;
};

}  // namespace minke::engine
