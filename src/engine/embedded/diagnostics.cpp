#include "engine/embedded/diagnostics.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/diagnostics.pb.h"
#include "model/job_state.pb.h"
#include "rpc/messages.pb.h"

namespace minke::engine {
namespace {

// Under which of Slurm's messages a request counts: programs that read sdiag know these names and numbers.
struct SlurmMessage {
  const char* name;
  uint32_t number;
};
SlurmMessage slurm_message(RequestKind kind) {
  using Message = rpc::ClientMessage;
  switch (kind) {
    case Message::kSubmit:
      return {"REQUEST_SUBMIT_BATCH_JOB", 4003};
    case Message::kWaitJob:
      return {"REQUEST_JOB_READY", 4019};
    case Message::kCreateStep:
      return {"REQUEST_JOB_STEP_CREATE", 5001};
    case Message::kSignal:
      return {"REQUEST_KILL_JOB", 5032};
    case Message::kHold:
    case Message::kUpdateJob:
      return {"REQUEST_UPDATE_JOB", 3001};
    case Message::kRequeue:
      return {"REQUEST_JOB_REQUEUE", 5023};
    case Message::kSuspend:
      return {"REQUEST_SUSPEND", 5014};
    case Message::kTop:
      return {"REQUEST_TOP_JOB", 5038};
    case Message::kNotify:
      return {"REQUEST_JOB_NOTIFY", 4022};
    case Message::kQueryStepUsage:
      return {"REQUEST_JOB_STEP_STAT", 5013};
    case Message::kUpdateNode:
      return {"REQUEST_UPDATE_NODE", 3002};
    case Message::kUpdatePartition:
      return {"REQUEST_UPDATE_PARTITION", 3005};
    case Message::kCompleteAllocation:
      return {"REQUEST_COMPLETE_JOB_ALLOCATION", 5017};
    case Message::kQueryJobs:
      return {"REQUEST_JOB_INFO", 2003};
    case Message::kQuerySteps:
      return {"REQUEST_JOB_STEP_INFO", 2005};
    case Message::kQueryScript:
      return {"REQUEST_BATCH_SCRIPT", 2051};
    case Message::kQueryAccounting:
      return {"DBD_GET_JOBS_COND", 1444};
    case Message::kQueryNodes:
      return {"REQUEST_NODE_INFO", 2007};
    case Message::kQueryPartitions:
      return {"REQUEST_PARTITION_INFO", 2009};
    case Message::kQueryConfig:
      return {"REQUEST_BUILD_INFO", 2001};
    case Message::kQueryDiagnostics:
      return {"REQUEST_STATS_INFO", 2035};
    case Message::kShutdown:
      return {"REQUEST_SHUTDOWN", 1005};
    case Message::kReconfigure:
      return {"REQUEST_RECONFIGURE", 1003};
    case Message::kStatus:
      return {"REQUEST_PING", 1008};
    default:
      return {"OTHER", 0};
  }
}

void count_pass(api::CycleStatistics& statistics, uint64_t depth, uint64_t queue_length,
                uint64_t microseconds, int64_t now) {
  statistics.set_count(statistics.count() + 1);
  statistics.set_last_time(microseconds);
  statistics.set_max_time(std::max(statistics.max_time(), microseconds));
  statistics.set_total_time(statistics.total_time() + microseconds);
  statistics.set_last_depth(depth);
  statistics.set_total_depth(statistics.total_depth() + depth);
  statistics.set_last_queue_length(queue_length);
  statistics.set_total_queue_length(statistics.total_queue_length() + queue_length);
  statistics.set_last_start(now);
}

uint64_t clock_latency() {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  for (int i = 0; i < 1000; ++i) [[maybe_unused]] const auto read = std::chrono::system_clock::now();
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count());
}

}  // namespace

Diagnostics::Diagnostics(std::function<int64_t()> wall_clock) : now_(std::move(wall_clock)), since_(now_()) {}

// As Slurm counts: failed are those that the cluster failed, not those whose own exit code says so.
void Diagnostics::job_ended(model::JobState state, model::StateReason reason) {
  if (state == model::JOB_CANCELLED) {
    ++canceled_;
  } else if (state == model::JOB_NODE_FAIL || state == model::JOB_BOOT_FAIL || reason == model::FAIL_LAUNCH ||
             reason == model::FAIL_SYSTEM) {
    ++failed_;
  } else {
    ++completed_;
  }
}

void Diagnostics::pass_made(const sched::PassResult& result, uint64_t queue_length, uint64_t microseconds) {
  count_pass(passes_, result.tested, queue_length, microseconds, now_());
  if (result.backfill_tested == 0) return;
  count_pass(backfill_passes_, result.backfill_tested, queue_length, microseconds, now_());
  backfilled_ += result.backfilled;
  backfilled_since_start_ += result.backfilled;
}

void Diagnostics::request_handled(RequestKind kind, uint32_t uid, uint64_t microseconds) {
  for (Requests* requests : {&by_kind_[kind], &by_uid_[uid]}) {
    ++requests->count;
    requests->microseconds += microseconds;
  }
}

void Diagnostics::reset() {
  const uint64_t kept = backfilled_since_start_;
  *this = Diagnostics(now_);
  backfilled_since_start_ = kept;
}

void Diagnostics::write(api::DiagnosticsReply& reply,
                        const std::function<std::string(uint32_t uid)>& user_name) const {
  reply.set_now(now_());
  reply.set_since(since_);
  reply.set_jobs_submitted(submitted_);
  reply.set_jobs_started(started_);
  reply.set_jobs_completed(completed_);
  reply.set_jobs_canceled(canceled_);
  reply.set_jobs_failed(failed_);
  *reply.mutable_passes() = passes_;
  *reply.mutable_backfill_passes() = backfill_passes_;
  reply.set_backfilled(backfilled_);
  reply.set_backfilled_since_start(backfilled_since_start_);
  const auto add = [](api::RequestStatistics& line, std::string name, uint32_t id, const Requests& requests) {
    line.set_name(std::move(name));
    line.set_id(id);
    line.set_count(line.count() + requests.count);
    line.set_total_time(line.total_time() + requests.microseconds);
  };
  std::map<uint32_t, api::RequestStatistics*> lines;  // two kinds may be one message of Slurm's
  for (const auto& [kind, requests] : by_kind_) {
    const SlurmMessage message = slurm_message(kind);
    api::RequestStatistics*& line = lines[message.number];
    if (line == nullptr) line = reply.add_by_type();
    add(*line, message.name, message.number, requests);
  }
  for (const auto& [uid, requests] : by_uid_) add(*reply.add_by_user(), user_name(uid), uid, requests);
  reply.set_gettimeofday_latency(clock_latency());
}

}  // namespace minke::engine
