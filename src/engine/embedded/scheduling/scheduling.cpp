#include "engine/embedded/scheduling/scheduling.h"
#include "base/request_guard.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/accounts/quotas.h"
#include "engine/embedded/answers/queries.h"
#include "engine/embedded/core.h"
#include "engine/embedded/launching/shortages.h"
#include "engine/embedded/life_cycle/dependencies.h"
#include "engine/embedded/life_cycle/lifecycle.h"
#include "engine/embedded/scheduling/history.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/preemption.h"
#include "engine/embedded/scheduling/priorities.h"
#include "engine/embedded/scheduling/reservations.h"
#include "engine/embedded/scheduling/world.h"
#include "model/cluster.pb.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "sched/constraint.h"
#include "sched/make_request.h"
#include "text/gres_count.h"
#include "text/hostlist.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace minke::engine {

using sched::kMaxChoicesOfJob;

Scheduling::Scheduling(Core& core)
    : core_(core),
      machine_(core.world->machine_),
      queue_(core.world->queue_),
      running_(core.world->running_) {}

Result<sched::Request> Scheduling::request_for(const model::JobSpec& spec, const std::string& partition,
                                               uint32_t time_limit_minutes) const {
  const model::PartitionRecord* record = core_.nodes->find_partition(partition);
  if (record == nullptr) {
    return failure("there is no partition " + partition, model::kInvalidPartitionName);
  }
  // The job's limit may have changed; its class depends on the current one.
  auto request = sched::make_request(spec, *record, machine_, time_limit_minutes);
  if (request && !spec.reservation().empty()) {
    const auto hold = core_.reservations->hold_id(spec);
    if (!hold) return failure(hold.error());
    request->reservation = *hold;
  }
  return request;
}

Status Scheduling::check(const model::JobSpec& spec, std::string& partitions) const {
  const auto names = make_submission(0, spec, core_.nodes->default_partition().name()).partitions;
  if (names.size() > kMaxChoicesOfJob) {
    return failure("more than 255 partitions", model::kInvalidPartitionName);
  }
  const bool all_must_fit = core_.config.part_limits == config::PartLimits::kAll;
  std::string possible;
  Error first_error;
  for (const std::string& name : names) {
    const auto request = request_for(spec, name, 0);
    if (request) {
      possible += (possible.empty() ? "" : ",") + name;
    } else {
      if (request.error().code == model::kInvalidPartitionName) return failure(request.error());
      // Limits of any partition are told before what its nodes lack.
      const bool is_first = first_error.message.empty();
      if (is_first || (first_error.code == model::kNodeConfigUnavailable && all_must_fit))
        first_error = request.error();
    }
  }
  const bool refused = !first_error.message.empty() && all_must_fit;
  if (possible.empty() || refused) return failure(first_error);
  partitions = possible;
  return {};
}

uint32_t Scheduling::time_limit_of(const model::JobSpec& spec) const {
  const auto names = make_submission(0, spec, core_.nodes->default_partition().name()).partitions;
  const auto request = request_for(spec, names.front(), 0);
  if (request) return request->time_limit_minutes;
  if (spec.has_time_limit_minutes()) return spec.time_limit_minutes();
  const model::PartitionRecord* partition = core_.nodes->find_partition(names.front());
  if (partition == nullptr) return kUnlimited;
  return partition->default_time_minutes() != 0 ? partition->default_time_minutes()
                                                : partition->max_time_minutes();
}

void Scheduling::apply_limits(const Job& job, const model::JobSpec& spec, sched::Request& request) const {
  request.rules.user = user_of(job);
  request.limit_group = core_.accounts->limit_group(job, spec, request);
}

uint32_t Scheduling::user_of(const Job& job) const {
  const auto& partitions = core_.nodes->partitions();
  const bool matters = std::any_of(partitions.begin(), partitions.end(),
                                   [](const auto& partition) { return partition.exclusive_user(); });
  return matters ? job.uid + 1 : 0;
}

uint32_t Scheduling::startable(const Job& job) const {
  uint64_t count = job.array ? job.array->waiting.size() : 1;
  const ArrayGroup* group = job.array_job_id == 0 ? nullptr : core_.state.find_array(job.array_job_id);
  if (group != nullptr && group->max_running != 0)
    count = std::min<uint64_t>(count, group->max_running - std::min(group->max_running, group->running));
  return static_cast<uint32_t>(std::min<uint64_t>(count, 0xffffffff));
}

void Scheduling::wait(Job& job, model::StateReason reason) {
  remove(job);
  if (job.reason == reason) return;
  job.reason = reason;
  core_.committer.job_changed(job.id);
}

// Distinguishes a real begin time (requested, or the delay of a requeue) from a past moment that lies in the
// future because the clock was set back.
bool Scheduling::begins_later(const Job& job) const {
  const int64_t now = core_.now();
  if (job.eligible_time <= now) return false;
  if (!job.submission->cron.empty() || job.submission->brief_spec().begin_time > now) return true;
  return job.restarts > 0 && job.eligible_time - now <= int64_t{core_.config.requeue_delay_seconds};
}

std::optional<model::StateReason> Scheduling::obstacle(Job& job) const {
  using namespace model;
  if (job.state != JOB_PENDING || !job.committed) return job.reason;
  if (job.priority == 0) {
    const bool other = job.reason == WAIT_HELD || job.reason == WAIT_MAX_REQUEUE;
    return other ? job.reason : WAIT_HELD_USER;
  }
  if (job.submission->uses_dependencies && !core_.dependencies->fulfilled(job)) {
    return core_.dependencies->never(job) ? WAIT_DEP_INVALID : WAIT_DEPENDENCY;
  }
  if (begins_later(job)) {
    core_.lifecycle->set_alarm(job);
    return WAIT_TIME;
  }
  // No job ends in less than a minute: its alarm ends it now.
  if (const int64_t deadline = job.submission->deadline; deadline != 0 && core_.now() + 60 > deadline) {
    core_.lifecycle->set_alarm(job);
    return FAIL_DEADLINE;
  }
  if (startable(job) == 0) return WAIT_ARRAY_TASK_LIMIT;
  if (std::string problem = core_.quotas->problem(job.uid, job.gid); !problem.empty()) {
    job.need_details().reason_detail = std::move(problem);
    return WAIT_HELD;
  }
  if (held_by_quota(job)) job.details->reason_detail.clear();
  if (!core_.shortages->stops_all() && !core_.shortages->problem(job.uid).empty()) return WAIT_NODE_NOT_AVAIL;
  return std::nullopt;
}

// What waits for its turn to count has the priority that it would have now, as in Slurm.
void Scheduling::foresee_priority(Job& job) {
  constexpr uint32_t kNotKnown = 1;
  if (job.priority != kNotKnown || job.fixed_priority || !core_.priorities->multifactor()) return;
  const model::JobSpec spec = job.submission->spec();
  const auto request = first_request(spec, job.submission->partitions, job.time_limit_minutes);
  if (request) core_.priorities->enter(job, spec, *request);
}

// Why a job waits that no partition takes as it is; `partition` is the last of its list.
model::StateReason Scheduling::reason_of_problem(const Error& problem, const model::JobSpec& spec,
                                                 const std::string& partition) const {
  using namespace model;
  const bool waits_for_limits = core_.config.part_limits == config::PartLimits::kNo;
  switch (problem.code) {
    case kReservationInvalid:
      return WAIT_RESERVATION;
    case kInvalidTimeLimit:
      return WAIT_PART_TIME_LIMIT;
    case kInvalidTaskMemory:
      return WAIT_PN_MEM_LIMIT;
    case kInvalidAccount:
    case kPartitionGroup:
      return WAIT_PART_CONFIG;
    case kInvalidQos:
      return QOS_NOT_ALLOWED;
    default:
      break;
  }
  if (!waits_for_limits) return FAIL_BAD_CONSTRAINTS;
  if (core_.nodes->is_larger_than(spec, partition)) return WAIT_PART_CONFIG;
  return problem.code == kInvalidNodeCount ? WAIT_PART_NODE_LIMIT : FAIL_BAD_CONSTRAINTS;
}

void Scheduling::update(Job& job) {
  RequestGuard::changing();
  using namespace model;
  if (job.het_job_id != 0) return update_components(job);
  if (const auto reason = obstacle(job)) {
    foresee_priority(job);
    return wait(job, *reason);
  }
  remove(job);
  const JobSpec spec = job.submission->spec();
  const std::vector<sched::HoldId> reservations = core_.reservations->choices(spec, job.uid);
  const size_t partitions = job.submission->partitions.size();
  job.choices = static_cast<uint8_t>(std::min(partitions * reservations.size(), kMaxChoicesOfJob));
  Error problem;
  for (size_t i = 0; i < job.choices; ++i) {
    const std::string& name = World::partition_of(job, i);
    auto request = request_for(spec, name, job.time_limit_minutes);
    if (const Status taken = core_.nodes->takes(name, spec, job.uid); request && !taken)
      request = failure(taken.error());
    if (!request) {
      problem = request.error();
      continue;
    }
    request->reservation = reservations[i / partitions];
    apply_limits(job, spec, *request);
    if (!job.queued) core_.priorities->enter(job, spec, *request);
    const PartitionRecord* partition = core_.nodes->find_partition(name);
    queue_.insert({.id = World::entry_of(job.id, i),
                   .priority = sched::priority_in_tier(partition->priority_tier(), priority_in(job, name)),
                   .order = sched::order_of(job.id, request->reservation != 0),
                   .startable = startable(job)},
                  *request);
    job.queued = true;
  }
  if (!job.queued) {
    // The machine has changed since the submission, or it may wait for that: nothing can run the job.
    job.need_details().reason_detail = problem.message;
    return wait(job, reason_of_problem(problem, spec, job.submission->partitions.back()));
  }
  job.reason = WAIT_NO_REASON;
  core_.priorities->something_waits();
  core_.history->queued(job);
  request_pass();
}

uint32_t Scheduling::priority_in(const Job& job, const std::string& partition) const {
  const bool fixed = job.fixed_priority || !core_.priorities->multifactor();
  return fixed ? job.priority : core_.priorities->in_partition(job, partition);
}

void Scheduling::priorities_changed() {
  machine_.limits_changed();  // usage that blocked jobs may have decayed
  bool any = false;
  for (const auto& [id, job] : core_.state.jobs()) {
    if (!job->queued) continue;
    any = true;
    if (!core_.priorities->multifactor() || job->fixed_priority) continue;
    for (size_t i = 0; i < job->choices; ++i) {
      const std::string& name = World::partition_of(*job, i);
      const uint32_t priority = core_.priorities->in_partition(*job, name);
      if (i == 0) job->priority = priority;
      const model::PartitionRecord* partition = core_.nodes->find_partition(name);
      queue_.set_priority(World::entry_of(id, i),
                          sched::priority_in_tier(partition->priority_tier(), priority));
    }
  }
  if (!any) return;
  core_.priorities->something_waits();
  request_pass();
}

void Scheduling::limits_changed() {
  machine_.limits_changed();
  request_pass();
  if (look_from_) {
    look_once_more_ = true;
    return;
  }
  look_from_ = 0;
  kept_limit_groups_ = core_.accounts->first_group();
  look_again();
}

void Scheduling::look_again() {
  constexpr std::chrono::milliseconds kSlice{3};
  constexpr int kAtOnce = 16;  // between two looks at the clock
  const auto begin = std::chrono::steady_clock::now();
  const auto& jobs = core_.state.jobs();
  int looks = 0;
  for (auto at = jobs.lower_bound(*look_from_); at != jobs.end(); ++at) {
    Job& job = *at->second;
    if (job.state != model::JOB_PENDING || !job.queued) continue;
    if (looks++ % kAtOnce == 0 && std::chrono::steady_clock::now() - begin > kSlice) {
      look_from_ = at->first;
      core_.loop.post([this] { look_again(); });
      return;
    }
    update(job);
  }
  core_.accounts->forget_groups(kept_limit_groups_);
  look_from_.reset();
  if (!std::exchange(look_once_more_, false)) return;
  look_from_ = 0;
  kept_limit_groups_ = core_.accounts->first_group();
  core_.loop.post([this] { look_again(); });
}

sched::WaitReasons Scheduling::wait_reasons() const {
  return {machine_, queue_, core_now(), core_.accounts->gate()};
}

Result<sched::Request> Scheduling::first_request(const model::JobSpec& spec,
                                                 const std::vector<std::string>& partitions,
                                                 uint32_t time_limit_minutes) const {
  Result<sched::Request> request = failure("");
  for (const std::string& name : partitions) {
    request = request_for(spec, name, time_limit_minutes);
    if (request) break;
  }
  return request;
}

void Scheduling::update_components(Job& job) {
  const std::vector<Job*> components = core_.state.components(job);
  Job& leader = *components.front();
  remove(leader);
  // If one component must wait, all wait.
  std::optional<model::StateReason> reason;
  if (components.size() < leader.het_size) reason = model::FAIL_SYSTEM;
  for (Job* component : components) {
    if (const auto own = obstacle(*component); own && !reason) reason = own;
  }
  std::optional<sched::Request> all;
  for (Job* component : components) {
    if (reason) break;
    const model::JobSpec spec = component->submission->spec();
    auto request = first_request(spec, component->submission->partitions, component->time_limit_minutes);
    if (request) {
      apply_limits(*component, spec, *request);
      core_.priorities->enter(*component, spec, *request);
    }
    if (!request) {
      reason = model::FAIL_BAD_CONSTRAINTS;
    } else if (!all) {
      all = std::move(*request);
    } else {
      all->companions.push_back(std::move(*request));
    }
  }
  for (Job* component : components) {
    if (component->state != model::JOB_PENDING || !component->committed) continue;
    const model::StateReason shown = reason.value_or(model::WAIT_NO_REASON);
    if (component->reason == shown) continue;
    component->reason = shown;
    core_.committer.job_changed(component->id);
  }
  if (reason) return;
  const std::string& name = machine_.layout().partitions()[all->partition].name;
  queue_.insert({.id = World::entry_of(leader.id, 0),
                 .priority = sched::priority_in_tier(core_.nodes->find_partition(name)->priority_tier(),
                                                     leader.priority),
                 .order = sched::order_of(leader.id, false),
                 .startable = 1},
                *all);
  leader.queued = true;
  request_pass();
}

void Scheduling::throttle_changed(uint32_t array_job_id) {
  const ArrayGroup* group = core_.state.find_array(array_job_id);
  if (group == nullptr) return;
  // Tasks with records of their own, and the record that all others share.
  const std::vector<uint32_t> ids(group->jobs.begin(), group->jobs.end());
  for (const uint32_t id : ids) {
    Job& job = *core_.state.find(id);
    if (job.state != model::JOB_PENDING || !job.committed) continue;
    const uint32_t count = startable(job);
    if (!job.queued || count == 0) {
      const bool stays = !job.queued && count == 0 && job.reason == model::WAIT_ARRAY_TASK_LIMIT;
      if (!stays) update(job);
      continue;
    }
    for (size_t i = 0; i < job.choices; ++i) queue_.set_startable(World::entry_of(job.id, i), count);
    request_pass();
  }
}

void Scheduling::array_task_over(uint32_t array_job_id) {
  if (const ArrayGroup* group = core_.state.find_array(array_job_id);
      group != nullptr && group->max_running != 0)
    throttle_changed(array_job_id);
}

void Scheduling::remove(Job& job) {
  RequestGuard::changing();
  Job* queued = &job;
  if (job.het_job_id != 0 && !job.is_het_leader()) queued = core_.state.find(job.het_job_id);
  if (queued == nullptr || !std::exchange(queued->queued, false)) return;
  forecast_.reset();
  for (size_t i = 0; i < queued->choices; ++i) queue_.remove(World::entry_of(queued->id, i));
}

void Scheduling::request_pass() {
  forecast_.reset();
  if (pass_scheduled_ || paused_ || core_.shortages->stops_all()) return;
  pass_scheduled_ = true;
  core_.loop.defer([this] {
    pass_scheduled_ = false;
    if (!paused_ && !core_.shortages->stops_all()) pass();
  });
}

void Scheduling::pause(bool paused) {
  paused_ = paused;
  if (!paused) request_pass();
}

void Scheduling::pass() {
  // Bounded, so that commands are answered between the passes of a very long burst.
  sched::PassOptions options{.max_starts = 5000};
  options.gate = core_.accounts->gate();
  core_.preemption->let_go_on(machine_, true);
  const size_t queue_length = queue_.size();
  const auto begin = std::chrono::steady_clock::now();
  const auto result =
      sched::run_pass(machine_, queue_, running_, core_.now(), options,
                      [this](sched::EntryId entry, const sched::Placement& placement, int64_t expected_end) {
                        return start(entry, placement, expected_end);
                      });
  const auto taken = std::chrono::steady_clock::now() - begin;
  core_.diagnostics.pass_made(
      result, queue_length,
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(taken).count()));
  if (result.started > 0) forecast_.reset();
  if (result.more) {
    core_.loop.post([this] { request_pass(); });
  } else {
    core_.preemption->make_room(machine_, queue_, running_, options.gate);
    if (core_.config.preemption.enabled()) forecast_.reset();
    core_.preemption->let_go_on(machine_, false);
    core_.loop.post([this] {
      core_.history->after_pass();
      core_.reservations->replace_nodes();
    });
  }
}

// The first node with the features of --batch; the first of all if none has them.
int Scheduling::script_node_of(const Job& job, const sched::Placement& placement) const {
  const auto wanted = sched::parse_constraint(job.submission->spec().batch_features(), machine_.layout());
  if (!wanted) return 0;
  for (size_t i = 0; i < placement.nodes.size(); ++i)
    for (const sched::FeatureTerms& any_of : wanted->cases)
      if (sched::has_features(machine_.layout(), placement.nodes[i].node, any_of)) return static_cast<int>(i);
  return 0;
}

void Scheduling::take_place(Job& job, const std::string& partition, const sched::Placement& placement,
                            int64_t expected_end) {
  Details& details = job.need_details();
  details.nodes = sched::to_model(machine_.layout(), placement);
  details.licenses_alloc.clear();
  if (job.submission->spec().licenses().find('|') != std::string::npos) {
    for (const sched::LicenseShare& share : placement.licenses) {
      details.licenses_alloc +=
          machine_.layout().licenses()[share.license].name + ":" + std::to_string(share.count);
    }
  }
  number_cpus(job);
  details.script_node = job.submission->chooses_script_node ? script_node_of(job, placement) : 0;
  details.partition = partition;
  if (const accounts::TresWeights* weights = core_.nodes->billing_weights(partition)) {
    model::JobRecord record = core_.state.record_of(job);
    *record.mutable_spec() = job.submission->spec();
    for (const model::NodeAllocation& node : record.nodes()) {
      for (const model::GresAllocation& gres : node.gres())
        add_gres(*record.mutable_tres_gres(), gres.name(), gres.type(), text::units_of(gres));
    }
    tres_counts(record, weights, &details.billing);
  }
  int64_t seconds = expected_end - core_.now();
  // A deadline ends the job like its time limit, and is shown as one.
  if (const int64_t deadline = job.submission->deadline; deadline != 0)
    seconds = std::min(seconds, deadline - core_.now());
  if (seconds < sched::limit_seconds(job.time_limit_minutes))
    job.time_limit_minutes = static_cast<uint32_t>(std::max<int64_t>(1, seconds / 60));
}

sched::RunKey Scheduling::start_component(Job& leader, const sched::Placement& placement,
                                          int64_t expected_end) {
  const std::vector<Job*> components = core_.state.components(leader);
  const auto next = std::find_if(components.begin(), components.end(), [](const Job* component) {
    return !component->details || component->details->nodes.empty();
  });
  MINKE_CHECK(next != components.end());
  Job& job = **next;
  const auto request =
      first_request(job.submission->spec(), job.submission->partitions, job.time_limit_minutes);
  take_place(
      job,
      request ? machine_.layout().partitions()[request->partition].name : job.submission->partitions.front(),
      placement, expected_end);
  leader.queued = false;
  // The first component's script may use the others from its first line on.
  if (next + 1 == components.end()) {
    for (auto started = components.rbegin(); started != components.rend(); ++started)
      core_.lifecycle->started(**started);
  }
  return job.id;
}

sched::RunKey Scheduling::start(sched::EntryId entry, const sched::Placement& placement,
                                int64_t expected_end) {
  Job* waiting = core_.state.find(World::job_of_entry(entry));
  MINKE_CHECK(waiting != nullptr);
  if (waiting->het_job_id != 0) return start_component(*waiting, placement, expected_end);
  MINKE_CHECK(waiting->queued);
  const size_t choice = sched::choice_of_entry(entry);
  const std::string partition = World::partition_of(*waiting, choice);
  Job* job = waiting;
  if (waiting->array) {
    job = &core_.state.split_task(*waiting, waiting->array->waiting.first());
    if (job != waiting) job->queued = false;
  }
  if (job == waiting) job->queued = false;
  const bool array_goes_on = job != waiting;
  for (size_t i = 0; i < waiting->choices; ++i) {
    if (i == choice) continue;
    const sched::EntryId other = World::entry_of(waiting->id, i);
    if (!array_goes_on) {
      queue_.remove(other);
    } else if (const auto found = queue_.find(other)) {
      queue_.set_startable(other, found->startable - 1);
    }
  }
  if (placement.reservation != 0) core_.reservations->entered(*job, placement.reservation);
  take_place(*job, partition, placement, expected_end);
  core_.lifecycle->started(*job);
  if (array_goes_on) {
    core_.committer.job_changed(waiting->id);
    if (startable(*waiting) == 0) {
      remove(*waiting);
      waiting->reason = model::WAIT_ARRAY_TASK_LIMIT;
    }
  }
  if (const ArrayGroup* group = core_.state.find_array(job->array_job_id);
      group != nullptr && group->max_running != 0 && group->jobs.size() > group->running + 1) {
    throttle_changed(job->array_job_id);
  }
  return job->id;
}

}  // namespace minke::engine
