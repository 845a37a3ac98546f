// Of a World of records, the queue: who may start now, and what keeps the others from it.
#include <algorithm>
#include <map>
#include <utility>

#include "model/error.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "sched/world_builder.h"
#include "text/hostlist.h"

namespace minke::sched {

using namespace model;

namespace {

// Whether the reason follows from what is in records, so that it is worked out anew. All others are taken as
// the record says.
bool follows_from_records(StateReason reason) {
  switch (reason) {
    case WAIT_NO_REASON:
    case WAIT_PRIORITY:
    case WAIT_RESOURCES:
    case WAIT_LICENSES:
    case WAIT_PART_DOWN:
    case WAIT_PART_INACTIVE:
    case WAIT_NODE_NOT_AVAIL:
    case WAIT_TIME:
    case WAIT_DEPENDENCY:
    case WAIT_ARRAY_TASK_LIMIT:
    case WAIT_RESERVATION:
      return true;
    default:
      return false;
  }
}

// Nothing where all is fulfilled that has to be.
std::optional<StateReason> awaited(const JobRecord& record) {
  const auto& terms = record.spec().dependencies();
  if (terms.empty()) {
    if (record.reason() != WAIT_DEPENDENCY) return std::nullopt;
    return WAIT_DEPENDENCY;  // on what, the record does not say
  }
  const bool any = record.spec().dependency_any();
  const auto is = [&](DependencyStatus status, bool one_is_enough) {
    const auto has_it = [&](const Dependency& term) { return term.status() == status; };
    return one_is_enough ? std::any_of(terms.begin(), terms.end(), has_it)
                         : std::all_of(terms.begin(), terms.end(), has_it);
  };
  if (is(DEPENDENCY_FULFILLED, any)) return std::nullopt;
  return is(DEPENDENCY_FAILED, !any) ? WAIT_DEP_INVALID : WAIT_DEPENDENCY;
}

std::uint64_t size_of(const ArraySpec& tasks) {
  std::uint64_t size = 0;
  for (const IndexRange& range : tasks.ranges())
    if (range.last() >= range.first())
      size += (range.last() - range.first()) / std::max(1u, range.step()) + 1;
  return size;
}

// Of a heterogeneous job, as its record tells; 0: it does not.
std::size_t components_of(const JobRecord& record) {
  const auto ids = text::expand_hostlist("[" + record.het_job_id_set() + "]");
  return record.het_job_id_set().empty() || !ids ? 0 : ids->size();
}

}  // namespace

const WorldBuilder::Throttle& WorldBuilder::throttle(std::uint32_t array_job_id) {
  const auto [place, is_new] = throttles_.try_emplace(array_job_id);
  Throttle& throttle = place->second;
  if (!is_new) return throttle;
  for (const std::uint32_t id : world_->arrays_[array_job_id]) {
    const JobRecord& record = world_->job(id)->record;
    if (World::holds_nodes(record)) ++throttle.running;
    throttle.most = std::max<std::uint64_t>(throttle.most, record.array_pending().max_running());
  }
  return throttle;
}

std::uint32_t WorldBuilder::startable(const JobRecord& record) {
  std::uint64_t count = std::max<std::uint64_t>(1, size_of(record.array_pending()));
  if (record.array_job_id() != 0) {
    const Throttle& of_array = throttle(record.array_job_id());
    // Where no record has the tasks that wait, the throttle is the one that was asked for.
    const std::uint64_t most = of_array.most != 0 ? of_array.most : record.spec().array().max_running();
    if (most != 0) count = std::min(count, most - std::min(most, of_array.running));
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(count, 0xffffffff));
}

std::optional<World::Obstacle> WorldBuilder::obstacle(const JobRecord& record) {
  const StateReason reason = record.reason();
  const auto because = [](StateReason why) { return World::Obstacle{why, {}}; };
  if (record.priority() == 0)
    return because(reason == WAIT_HELD || reason == WAIT_MAX_REQUEUE ? reason : WAIT_HELD_USER);
  if (!follows_from_records(reason)) return World::Obstacle{reason, record.reason_detail()};
  if (const auto others = awaited(record)) return because(*others);
  if (record.eligible_time() > now_ && (record.spec().begin_time() > now_ || reason == WAIT_TIME))
    return because(WAIT_TIME);
  if (startable(record) == 0) return because(WAIT_ARRAY_TASK_LIMIT);
  return std::nullopt;
}

void WorldBuilder::keep_out(World::Job& job, World::Obstacle obstacle) {
  if (obstacle.reason >= ASSOC_GRP_CPU) limited_.add(job.record.job_id());
  job.obstacle = std::move(obstacle);
}

void WorldBuilder::enter_waiting() {
  for (auto& [id, job] : world_->jobs_) {
    if (World::holds_nodes(job.record)) continue;
    job.partitions = world_->partitions_of(
        job.record.spec().partition().empty() ? job.record.partition() : job.record.spec().partition());
  }
  std::map<std::uint32_t, std::vector<World::Job*>> components;
  for (auto& [id, job] : world_->jobs_) {
    if (job.partitions.empty()) continue;
    if (job.record.het_job_id() == 0) {
      enter(job);
    } else {
      components[job.record.het_job_id()].push_back(&job);
    }
  }
  for (auto& [id, jobs] : components) enter_components(std::move(jobs));
}

void WorldBuilder::enter(World::Job& job) {
  const JobRecord& record = job.record;
  if (auto found = obstacle(record)) return keep_out(job, std::move(*found));
  const std::vector<HoldId> reservations = world_->reservations_of(record.spec());
  job.choices =
      std::min(job.partitions.size() * std::max<std::size_t>(1, reservations.size()), kMaxChoicesOfJob);
  Error problem;
  for (std::size_t i = 0; i < job.choices; ++i) {
    auto request = world_->request(record, job.partitions[i % job.partitions.size()], &possible_);
    if (!request) {
      problem = request.error();
      continue;
    }
    if (record.time_limit_minutes() == 0) job.record.set_time_limit_minutes(request->time_limit_minutes);
    if (!reservations.empty()) request->reservation = reservations[i / job.partitions.size()];
    PendingEntry entry = world_->pending_entry(job, i, *request);
    entry.startable = startable(record);
    world_->queue_.insert(entry, *request);
    job.queued = true;
  }
  if (job.queued) return;
  const StateReason reason = problem.code == kReservationInvalid ? WAIT_RESERVATION
                             : problem.code == kInvalidTimeLimit ? WAIT_PART_TIME_LIMIT
                                                                 : FAIL_BAD_CONSTRAINTS;
  impossible_.add(record.job_id());
  keep_out(job, {reason, problem.message});
}

// All of a heterogeneous job are one entry, under its first one's id. What one waits for, all wait for.
void WorldBuilder::enter_components(std::vector<World::Job*> components) {
  std::sort(components.begin(), components.end(), [](const World::Job* a, const World::Job* b) {
    return a->record.het_job_offset() < b->record.het_job_offset();
  });
  std::optional<World::Obstacle> reason;
  std::optional<Request> all;
  for (const World::Job* component : components)
    if (auto own = obstacle(component->record); own && !reason) reason = std::move(own);
  World::Job& leader = *components.front();
  const bool whole = leader.record.het_job_id() == leader.record.job_id() &&
                     components.size() >= components_of(leader.record);
  if (!whole && !reason) {
    incomplete_.add(leader.record.het_job_id());
    reason = World::Obstacle{FAIL_SYSTEM, "some of its components are not shown"};
  }
  for (const World::Job* component : components) {
    if (reason) break;
    Result<Request> request = failure("");
    for (const std::string& name : component->partitions)
      if (!request) request = world_->request(component->record, name, &possible_);
    if (!request) {
      impossible_.add(component->record.job_id());
      reason = World::Obstacle{FAIL_BAD_CONSTRAINTS, request.error().message};
    } else if (!all) {
      all = std::move(*request);
    } else {
      all->companions.push_back(std::move(*request));
    }
  }
  if (reason) {
    for (World::Job* component : components) keep_out(*component, *reason);
    return;
  }
  leader.choices = 1;
  leader.queued = true;
  world_->queue_.insert(world_->pending_entry(leader, 0, *all), *all);
}

}  // namespace minke::sched
