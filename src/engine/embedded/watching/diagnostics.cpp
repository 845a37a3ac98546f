#include "engine/embedded/watching/diagnostics.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "api/diagnostics.pb.h"
#include "model/job_state.pb.h"
#include "rpc/messages.pb.h"

namespace minke::engine {
namespace {

// Slurm's message for each kind of request: programs that read sdiag know these names and numbers.
using Message = rpc::ClientMessage;
struct SlurmMessage {
  RequestKind kind;
  const char* name;
  uint32_t number;
};
constexpr SlurmMessage kSlurmMessages[] = {
    {Message::kSubmit, "REQUEST_SUBMIT_BATCH_JOB", 4003},
    {Message::kWaitJob, "REQUEST_JOB_READY", 4019},
    {Message::kCreateStep, "REQUEST_JOB_STEP_CREATE", 5001},
    {Message::kSignal, "REQUEST_KILL_JOB", 5032},
    {Message::kHold, "REQUEST_UPDATE_JOB", 3001},
    {Message::kUpdateJob, "REQUEST_UPDATE_JOB", 3001},
    {Message::kRequeue, "REQUEST_JOB_REQUEUE", 5023},
    {Message::kSuspend, "REQUEST_SUSPEND", 5014},
    {Message::kTop, "REQUEST_TOP_JOB", 5038},
    {Message::kNotify, "REQUEST_JOB_NOTIFY", 4022},
    {Message::kQueryStepUsage, "REQUEST_JOB_STEP_STAT", 5013},
    {Message::kUpdateNode, "REQUEST_UPDATE_NODE", 3002},
    {Message::kUpdatePartition, "REQUEST_UPDATE_PARTITION", 3005},
    {Message::kCompleteAllocation, "REQUEST_COMPLETE_JOB_ALLOCATION", 5017},
    {Message::kQueryJobs, "REQUEST_JOB_INFO", 2003},
    {Message::kQuerySteps, "REQUEST_JOB_STEP_INFO", 2005},
    {Message::kQueryScript, "REQUEST_BATCH_SCRIPT", 2051},
    {Message::kQueryAccounting, "DBD_GET_JOBS_COND", 1444},
    {Message::kQueryNodes, "REQUEST_NODE_INFO", 2007},
    {Message::kQueryPartitions, "REQUEST_PARTITION_INFO", 2009},
    {Message::kQueryConfig, "REQUEST_BUILD_INFO", 2001},
    {Message::kQueryDiagnostics, "REQUEST_STATS_INFO", 2035},
    {Message::kShutdown, "REQUEST_SHUTDOWN", 1005},
    {Message::kReconfigure, "REQUEST_RECONFIGURE", 1003},
    {Message::kStatus, "REQUEST_PING", 1008},
};
constexpr SlurmMessage kOther = {0, "OTHER", 0};

const SlurmMessage& slurm_message(RequestKind kind) {
  const auto found = std::find_if(std::begin(kSlurmMessages), std::end(kSlurmMessages),
                                  [kind](const SlurmMessage& one) { return one.kind == kind; });
  return found == std::end(kSlurmMessages) ? kOther : *found;
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

// As in Slurm: "failed" counts failures of the cluster, not jobs with a nonzero exit code.
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
  last_pass_ = now_();
  count_pass(passes_, result.tested, queue_length, microseconds, last_pass_);
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
  std::map<uint32_t, api::RequestStatistics*> lines;  // two kinds may be one message in Slurm
  for (const auto& [kind, requests] : by_kind_) {
    const SlurmMessage& message = slurm_message(kind);
    api::RequestStatistics*& line = lines[message.number];
    if (line == nullptr) line = reply.add_by_type();
    add(*line, message.name, message.number, requests);
  }
  for (const auto& [uid, requests] : by_uid_) add(*reply.add_by_user(), user_name(uid), uid, requests);
  reply.set_gettimeofday_latency(clock_latency());
}

}  // namespace minke::engine
