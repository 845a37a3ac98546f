// How steps end: by signals, by limits, and with their job.
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "api/steps.pb.h"
#include "engine/embedded/answers/queries.h"
#include "engine/embedded/core.h"
#include "engine/embedded/launching/confining.h"
#include "engine/embedded/launching/launching.h"
#include "engine/embedded/steps/step_totals.h"
#include "engine/embedded/steps/steps.h"
#include "engine/embedded/watching/measuring.h"
#include "model/error.h"
#include "node/launch.pb.h"
#include "text/state.h"
#include "text/timestamp.h"

namespace minke::engine {

using namespace model;

namespace {

// A clock in nanoseconds covers some 290 years.
constexpr std::chrono::hours kFarthest{24 * 365 * 100};

}  // namespace

// The record of its end, from its tasks and from whoever ended it.
StepRecord Steps::ended_record(const Step& step, const node::Launch& launch, const Job* job) {
  StepRecord record = step.tag.record();
  const bool several = step.tag.node_of_task_size() > 1;
  int32_t highest = 0;
  bool out_of_memory = false;
  for (const node::TaskEnd& end : launch.ended_tasks()) {
    out_of_memory = out_of_memory || end.oom_kills() != 0;
    highest = std::max(highest, WIFSIGNALED(end.status()) ? 128 * 256 + end.status() : end.status());
    add_task_usage(*record.mutable_usage(), end.usage(), end.rank(),
                   static_cast<int>(end.rank()) < step.tag.node_of_task_size()
                       ? step.tag.node_of_task(static_cast<int>(end.rank()))
                       : std::string(),
                   several);
  }
  if (highest >= 128 * 256) highest -= 128 * 256;
  record.set_exit_code(highest);
  record.set_end_time(std::max(launch.end_time(), record.start_time()));
  record.set_launch_error(launch.launch_error());
  record.set_state(highest == 0 && launch.launch_error().empty() ? JOB_COMPLETE : JOB_FAILED);
  if (out_of_memory) {
    record.set_state(JOB_OOM);
    record.set_exit_code(text::kOutOfMemory);
  }
  if (launch.lost()) record.set_state(JOB_NODE_FAIL);
  if (record.state() == JOB_COMPLETE) return record;
  // Slurm accounts a step that a signal ended as cancelled, whoever sent the signal.
  const bool with_its_job = job != nullptr && job->completing;
  if (!out_of_memory && (with_its_job || step.killed || WIFSIGNALED(highest)))
    record.set_state(JOB_CANCELLED);
  if (step.out_of_time) record.set_state(JOB_TIMEOUT);
  return record;
}

void Steps::step_ended(const node::Launch& launch) {
  Step* step = find(launch.id());
  if (step == nullptr) return collect(launch.id());  // ended with its job
  if (step->tag.node_of_task_size() == 1 && launch.ended_tasks_size() == 1) step_task_ended(launch);
  Job* job = core_.state.find(launch.id().job_id());
  StepRecord record = ended_record(*step, launch, job);
  if (job != nullptr) {
    job->derived_exit_code = std::max(job->derived_exit_code, record.exit_code());
    core_.measuring->add_usage(*job, record, gpu_devices_of(*job, *step));
    add_step_usage(job->need_details().usage, record.usage());
    core_.committer.job_changed(job->id);  // stores the totals of its steps with them
  }
  core_.committer.step_changed(record);
  api::StepEvent event;
  *event.mutable_ended()->mutable_step() = record;
  event.mutable_ended()->set_launch_error(launch.launch_error());
  collect(launch.id());
  core_.committer.when_durable([event, tell = std::move(step->report)] {
    if (tell) tell(event);
  });
  auto& running = jobs_[launch.id().job_id()].running;
  running.erase(launch.id().step_id());
  if (job != nullptr && job->completing && !job->has_script() && running.empty())
    core_.launching->end_allocation(*job);
  start_waiting(launch.id().job_id());
}

void Steps::job_ended(Job& job) {
  const auto steps = jobs_.find(job.id);
  if (steps == jobs_.end()) return;
  for (auto& [id, step] : steps->second.running) {
    StepRecord record = step.tag.record();
    record.set_state(JOB_CANCELLED);
    record.set_exit_code(SIGKILL);
    record.set_end_time(core_.now());
    core_.committer.step_changed(record);
    api::StepEvent event;
    *event.mutable_ended()->mutable_step() = record;
    core_.committer.when_durable([event, tell = std::move(step.report)] {
      if (tell) tell(event);
    });
  }
  for (Waiting& waiting : steps->second.waiting) {
    api::StepEvent event;
    event.mutable_ended()->set_launch_error(std::string(slurm_error_text(kAlreadyDone)));
    waiting.report(event);
  }
  jobs_.erase(steps);
}

void Steps::script_ended(Job& job, const node::TaskEnd& end, int32_t status, int64_t end_time) {
  Details& details = job.need_details();
  // Without other steps, a batch step that ended by itself equals its job, and its
  // record follows from the job's.
  if (details.next_step_id > 0 || job.completing) {
    StepRecord record;
    record.set_job_id(job.id);
    record.set_kind(STEP_BATCH);
    record.set_restarts(job.restarts);
    record.set_name("batch");
    record.set_state(status == 0 ? JOB_COMPLETE : status == text::kOutOfMemory ? JOB_OOM : JOB_FAILED);
    if (job.completing) record.set_state(JOB_CANCELLED);
    record.set_exit_code(status);
    record.set_start_time(job.start_time);
    record.set_end_time(end_time);
    const NodeAllocation& node = details.nodes.Get(details.script_node);
    record.set_node_list(node.node());
    record.set_num_nodes(1);
    record.set_num_tasks(1);
    add_holdings(record, node);
    *record.mutable_usage() = end.usage();
    core_.measuring->add_usage(job, record, engine::gpu_devices_of(core_, job));
    record.set_array_job_id(job.array_job_id);
    if (job.array_task != kNoTask) record.set_array_task_id(job.array_task);
    core_.committer.step_changed(record);
  }
  add_step_usage(details.usage, end.usage());
}

bool Steps::abort(const Job& job, const std::string& why) {
  const auto steps = jobs_.find(job.id);
  if (steps == jobs_.end()) return false;
  for (auto& [id, step] : steps->second.running) {
    step.killed = true;
    tell_abort(step);
    announce(step, why);
  }
  return !steps->second.running.empty();
}

void Steps::tell_abort(Step& step) {
  api::StepEvent event;
  event.set_note("Job step aborted: Waiting up to " + std::to_string(core_.config.kill_wait_seconds + 2) +
                 " seconds for job step to finish.");
  report(step, event);
}

// The line that Slurm writes when it ends a step.
void Steps::announce(Step& step, const std::string& why) {
  if (std::exchange(step.announced, true)) return;
  api::StepEvent event;
  const StepRecord& record = step.tag.record();
  const std::string node = step.tag.node_of_task_size() > 0 ? step.tag.node_of_task(0) : "";
  event.set_note(std::string(kErrorPrefix) + "*** STEP " + std::to_string(record.job_id()) + "." +
                 std::to_string(record.step_id()) + " ON " + node + " CANCELLED AT " +
                 text::format_time(core_.now()) + (why.empty() ? "" : " " + why) + " ***");
  report(step, event);
}

void Steps::announce(const Job& job) {
  const auto steps = jobs_.find(job.id);
  if (steps == jobs_.end()) return;
  for (auto& [id, step] : steps->second.running) announce(step);
}

void Steps::signal(const Job& job, uint32_t step_id, uint32_t signal) {
  const auto steps = jobs_.find(job.id);
  if (steps != jobs_.end() && (signal == SIGKILL || signal == SIGTERM)) {
    const auto step = steps->second.running.find(step_id);
    if (step != steps->second.running.end()) {
      step->second.killed = step->second.killed || signal == SIGKILL;
      if (signal == SIGTERM) announce(step->second);
    }
  }
  core_.launching->signal(job, signal, node::SignalOrder::ONE_STEP, step_id);
}

void Steps::cancel(const Job& job, uint32_t step_id) {
  const auto steps = jobs_.find(job.id);
  if (steps == jobs_.end()) return;
  const auto step = steps->second.running.find(step_id);
  if (step == steps->second.running.end()) return;
  announce(step->second);
  tell_abort(step->second);
  signal(job, step_id, SIGKILL);
}

void Steps::leave(const Job& job, const std::string& node) {
  const auto steps = jobs_.find(job.id);
  if (steps == jobs_.end()) return;
  for (const auto& [id, step] : steps->second.running) {
    std::vector<uint32_t> ranks;
    for (int rank = 0; rank < step.tag.node_of_task_size(); ++rank)
      if (step.tag.node_of_task(rank) == node) ranks.push_back(static_cast<uint32_t>(rank));
    if (!ranks.empty()) core_.launching->kill_tasks(job, id, ranks);
  }
}

void Steps::terminate(const Job& job, uint32_t step_id, Step& step) {
  core_.launching->signal(job, SIGCONT, node::SignalOrder::ONE_STEP, step_id);
  core_.launching->signal(job, SIGTERM, node::SignalOrder::ONE_STEP, step_id);
  if (step.kill_timer) return;
  step.kill_timer = core_.loop.make_timer([this, id = job.id, step_id] {
    if (const Job* found = core_.state.find(id)) signal(*found, step_id, SIGKILL);
  });
  step.kill_timer->set_after(std::chrono::seconds(core_.config.kill_wait_seconds));
}

void Steps::watch_time_limit(Step& step) {
  const StepRecord& record = step.tag.record();
  if (!record.has_time_limit_minutes()) return;
  const int64_t end = record.start_time() + int64_t{60} * record.time_limit_minutes();
  const std::chrono::seconds left(std::max<int64_t>(0, end - core_.now()));
  step.limit_timer.reset();
  if (left > kFarthest) return;
  step.limit_timer =
      core_.loop.make_timer([this, job = record.job_id(), id = record.step_id()] { time_out(job, id); });
  step.limit_timer->set_after(left);
}

Status Steps::set_time_limit(uint32_t job_id, std::optional<uint32_t> step_id, uint32_t minutes) {
  const auto steps = jobs_.find(job_id);
  if (steps == jobs_.end()) return failure("", kInvalidJobId);
  bool found = false;
  for (auto& [id, step] : steps->second.running) {
    if (step_id && id != *step_id) continue;
    found = true;
    if (minutes == kUnlimited) {
      step.tag.mutable_record()->clear_time_limit_minutes();
      step.limit_timer.reset();
    } else {
      step.tag.mutable_record()->set_time_limit_minutes(minutes);
    }
    core_.committer.step_changed(step.tag.record());
    watch_time_limit(step);
  }
  return found ? Status() : failure("", kInvalidJobId);
}

void Steps::time_out(uint32_t job_id, uint32_t step_id) {
  const auto steps = jobs_.find(job_id);
  const Job* job = core_.state.find(job_id);
  if (steps == jobs_.end() || job == nullptr) return;
  const auto step = steps->second.running.find(step_id);
  if (step == steps->second.running.end()) return;
  step->second.out_of_time = true;
  announce(step->second, "DUE TO TIME LIMIT");
  terminate(*job, step_id, step->second);
}

}  // namespace minke::engine
