#include "engine/embedded/scheduling.h"

#include <algorithm>
#include <utility>

#include "engine/embedded/core.h"
#include "engine/embedded/dependencies.h"
#include "engine/embedded/lifecycle.h"
#include "engine/embedded/nodes.h"
#include "model/error.h"
#include "text/hostlist.h"

namespace minke::engine {

namespace {

constexpr size_t kMaxPartitionsOfJob = 255;  // the lower byte of an entry's id

sched::Machine build_machine(const Configuration& config) {
  std::vector<sched::PartitionNodes> partitions;
  for (const auto& partition : config.partitions) {
    auto nodes = text::expand_hostlist(partition.nodes());
    MINKE_CHECK(nodes.has_value());
    partitions.push_back({partition.name(), std::move(*nodes)});
  }
  auto machine = sched::Machine::build(config.nodes, partitions);
  MINKE_CHECK(machine.has_value());
  return std::move(*machine);
}

}  // namespace

// As priority/basic: the earlier, the higher. Held: 0.
uint32_t initial_priority(const model::JobSpec& spec, uint32_t job_id) {
  if (spec.hold()) return 0;
  if (spec.has_priority()) return spec.priority();
  const int64_t priority = int64_t{4294901761} - job_id - spec.nice();
  return static_cast<uint32_t>(std::clamp<int64_t>(priority, 1, 0xfffffffe));
}

Scheduling::Scheduling(Core& core) : core_(core), machine_(build_machine(core.config)) {}

Result<sched::Request> Scheduling::request_for(const model::JobSpec& spec, const std::string& partition,
                                               uint32_t time_limit_minutes) const {
  const model::PartitionRecord* record = core_.nodes->find_partition(partition);
  if (record == nullptr) {
    return failure("there is no partition " + partition, model::kInvalidPartitionName);
  }
  sched::NodeNames names;
  for (const auto& [list, into] :
       {std::pair{&spec.node_list(), &names.required}, std::pair{&spec.exclude(), &names.excluded}}) {
    if (list->empty()) continue;
    auto expanded = text::expand_hostlist(*list);
    if (!expanded) return failure(expanded.error().message, model::kInvalidNodeName);
    *into = std::move(*expanded);
  }
  auto request = sched::make_request(spec, *record, machine_, names);
  // The job's own limit may have been changed since; its class goes by what it may use now.
  if (request && time_limit_minutes != 0) request->time_limit_minutes = time_limit_minutes;
  return request;
}

Status Scheduling::check(const model::JobSpec& spec, std::string& partitions) const {
  const auto names = make_submission(0, spec, core_.nodes->default_partition().name()).partitions;
  if (names.size() > kMaxPartitionsOfJob) {
    return failure("more than 255 partitions", model::kInvalidPartitionName);
  }
  std::string possible;
  Error first_error;
  for (const std::string& name : names) {
    const auto request = request_for(spec, name, 0);
    if (request) {
      possible += (possible.empty() ? "" : ",") + name;
    } else {
      if (request.error().code == model::kInvalidPartitionName) return failure(request.error());
      if (first_error.message.empty()) first_error = request.error();
    }
  }
  if (possible.empty()) return failure(first_error);
  partitions = possible;
  return {};
}

uint32_t Scheduling::time_limit_of(const model::JobSpec& spec) const {
  const auto names = make_submission(0, spec, core_.nodes->default_partition().name()).partitions;
  const auto request = request_for(spec, names.front(), 0);
  return request ? request->time_limit_minutes : kUnlimited;
}

uint32_t Scheduling::startable(const Job& job) const {
  if (!job.array) return 1;
  uint64_t count = job.array->waiting.size();
  if (job.array->max_running != 0) {
    const ArrayGroup* group = core_.state.find_array(job.array_job_id);
    const uint32_t running = group == nullptr ? 0 : group->running;
    count = std::min<uint64_t>(count, job.array->max_running - std::min(job.array->max_running, running));
  }
  return static_cast<uint32_t>(std::min<uint64_t>(count, 0xffffffff));
}

void Scheduling::update(Job& job) {
  using namespace model;
  const auto wait = [&](StateReason reason) {
    remove(job);
    job.queued = false;
    if (job.reason != reason) {
      job.reason = reason;
      core_.committer.job_changed(job.id);
    }
  };
  if (job.state != JOB_PENDING || !job.committed) return wait(job.reason);
  if (job.priority == 0) return wait(job.reason == WAIT_HELD ? WAIT_HELD : WAIT_HELD_USER);
  if (job.submission->uses_dependencies && !core_.dependencies->fulfilled(job)) {
    return wait(core_.dependencies->never(job) ? WAIT_DEP_INVALID : WAIT_DEPENDENCY);
  }
  if (job.eligible_time > core_.now()) {
    core_.lifecycle->set_alarm(job);
    return wait(WAIT_TIME);
  }
  const uint32_t count = startable(job);
  if (count == 0) return wait(WAIT_ARRAY_TASK_LIMIT);

  remove(job);
  job.queued = false;
  const JobSpec spec = job.submission->spec();
  const auto& names = job.submission->partitions;
  Error problem;
  for (size_t i = 0; i < std::min(names.size(), kMaxPartitionsOfJob); ++i) {
    const auto request = request_for(spec, names[i], job.time_limit_minutes);
    if (!request) {
      problem = request.error();
      continue;
    }
    const PartitionRecord* partition = core_.nodes->find_partition(names[i]);
    queue_.insert({.id = entry_of(job.id, i),
                   .priority = (uint64_t{partition->priority_tier()} << 32) | job.priority,
                   .order = job.id,
                   .startable = count},
                  *request);
    job.queued = true;
  }
  if (!job.queued) {
    // The machine has changed since it was submitted, and nothing could run it any more.
    job.need_details().reason_detail = problem.message;
    return wait(problem.code == model::kInvalidTimeLimit ? WAIT_PART_TIME_LIMIT : FAIL_BAD_CONSTRAINTS);
  }
  job.reason = WAIT_NO_REASON;
  request_pass();
}

void Scheduling::throttle_changed(Job& array) {
  const uint32_t count = startable(array);
  if (!array.queued || count == 0) return update(array);
  for (size_t i = 0; i < array.submission->partitions.size(); ++i)
    queue_.set_startable(entry_of(array.id, i), count);
  request_pass();
}

void Scheduling::remove(const Job& job) {
  if (!job.queued) return;
  for (size_t i = 0; i < job.submission->partitions.size(); ++i) queue_.remove(entry_of(job.id, i));
}

void Scheduling::request_pass() {
  if (pass_scheduled_ || paused_) return;
  pass_scheduled_ = true;
  core_.loop.defer([this] {
    pass_scheduled_ = false;
    if (!paused_) pass();
  });
}

void Scheduling::pause(bool paused) {
  paused_ = paused;
  if (!paused) request_pass();
}

void Scheduling::pass() {
  // Bounded, so that commands are answered between the passes of a very long burst.
  const sched::PassOptions options{.max_starts = 5000};
  const auto result =
      sched::run_pass(machine_, queue_, running_, core_.now(), options,
                      [this](sched::EntryId entry, const sched::Placement& placement, int64_t expected_end) {
                        return start(entry, placement, expected_end);
                      });
  if (result.more) core_.loop.post([this] { request_pass(); });
}

sched::RunKey Scheduling::start(sched::EntryId entry, const sched::Placement& placement, int64_t) {
  Job* waiting = core_.state.find(job_of_entry(entry));
  MINKE_CHECK(waiting != nullptr && waiting->queued);
  const size_t partition_index = entry & 0xff;
  const std::vector<std::string>& partitions = waiting->submission->partitions;
  const std::string& partition = partitions[partition_index];
  Job* job = waiting;
  if (waiting->array) {
    job = &core_.state.split_task(*waiting, waiting->array->waiting.first());
    if (job != waiting) job->queued = false;
  }
  if (job == waiting) job->queued = false;
  const bool array_goes_on = job != waiting;
  for (size_t i = 0; i < partitions.size(); ++i) {
    if (i == partition_index) continue;
    const sched::EntryId other = entry_of(waiting->id, i);
    if (!array_goes_on) {
      queue_.remove(other);
    } else if (const auto found = queue_.find(other)) {
      queue_.set_startable(other, found->startable - 1);
    }
  }
  Details& details = job->need_details();
  details.nodes = sched::to_model(machine_.layout(), placement);
  details.partition = partition;
  core_.lifecycle->started(*job);
  if (array_goes_on) {
    core_.committer.job_changed(waiting->id);
    if (startable(*waiting) == 0) {
      waiting->queued = false;
      waiting->reason = model::WAIT_ARRAY_TASK_LIMIT;
    }
  }
  return job->id;
}

Status Scheduling::adopt(Job& job) {
  auto placement = sched::from_model(machine_.layout(), job.details->nodes);
  if (!placement) return failure(placement.error());
  machine_.adopt(*placement);
  running_.add(job.id, job.start_time + sched::limit_seconds(job.time_limit_minutes), std::move(*placement));
  return {};
}

void Scheduling::release(const Job& job) {
  const auto placement = running_.remove(job.id);
  if (!placement) return;
  machine_.release(*placement);
  request_pass();
}

void Scheduling::time_limit_changed(const Job& job) {
  running_.set_expected_end(job.id, job.start_time + sched::limit_seconds(job.time_limit_minutes));
  request_pass();
}

void Scheduling::set_node_available(const std::string& node, bool available) {
  const auto id = machine_.layout().find_node(node);
  MINKE_CHECK(id.has_value());
  machine_.set_available(*id, available);
  request_pass();
}

void Scheduling::set_partition_up(const std::string& partition, bool up) {
  const auto id = machine_.layout().find_partition(partition);
  MINKE_CHECK(id.has_value());
  machine_.set_schedulable(*id, up);
  request_pass();
}

std::vector<sched::ExpectedStart> Scheduling::forecast() const {
  return sched::forecast(machine_, queue_, running_, core_.now());
}

std::optional<sched::ExpectedStart> Scheduling::forecast_submission(const model::JobSpec& spec) const {
  std::optional<sched::ExpectedStart> best;
  for (const auto& name : make_submission(0, spec, core_.nodes->default_partition().name()).partitions) {
    const auto request = request_for(spec, name, 0);
    if (!request) continue;
    const auto expected = sched::forecast_request(machine_, queue_, running_, *request, 0, core_.now());
    if (expected && (!best || expected->start < best->start)) best = expected;
  }
  return best;
}

const sched::Request* Scheduling::queued_request(const Job& job) const {
  for (size_t i = 0; job.queued && i < job.submission->partitions.size(); ++i) {
    if (const sched::Request* request = queue_.request_of(entry_of(job.id, i))) return request;
  }
  return nullptr;
}

model::StateReason Scheduling::reason_of(const sched::WaitReasons& reasons, const Job& job) const {
  if (!job.queued) return job.reason;
  for (size_t i = 0; i < job.submission->partitions.size(); ++i) {
    if (!queue_.find(entry_of(job.id, i))) continue;
    return reasons.of(entry_of(job.id, i));
  }
  return job.reason;
}

}  // namespace minke::engine
