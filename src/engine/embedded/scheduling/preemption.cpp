#include "engine/embedded/scheduling/preemption.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/core.h"
#include "engine/embedded/life_cycle/lifecycle.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/world.h"
#include "model/lasting_state.pb.h"
#include "sched/placer.h"
#include "sched/preemption.h"
#include "store/loaded_rows.h"
#include "store/tables.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr size_t kMostTested = 200;  // waiting jobs per pass
constexpr uint64_t kFirstOfAll = ~uint64_t{0};

// What a suspended job lends.
sched::Placement processors_of(sched::Placement placement) {
  placement.licenses.clear();
  for (sched::NodeShare& share : placement.nodes) {
    share.memory_mib = 0;
    share.gres.clear();
  }
  return placement;
}

// Whether a suspended job's processors will be free once the suspension is durable.
bool will_lend(const sched::Placement& placement) {
  return std::any_of(placement.nodes.begin(), placement.nodes.end(),
                     [](const sched::NodeShare& share) { return share.cpus != 0; });
}

// Suspended jobs resume one by one, which components of a heterogeneous job cannot.
bool may_be_asked(const Job& job, const Job& leader, config::PreemptMode mode) {
  return job.state == JOB_RUNNING && leader.state == JOB_RUNNING && mode != config::PreemptMode::kOff &&
         (job.het_job_id == 0 || mode != config::PreemptMode::kSuspend);
}

}  // namespace

void Preemption::restore(store::LoadedRows& rows) {
  for (const SuspendedJob& job : rows.read(store::kSuspendedJobs)) suspended_.insert(job.job_id());
}

void Preemption::remember_suspended(uint32_t job_id) {
  if (!suspended_.insert(job_id).second) return;
  SuspendedJob job;
  job.set_job_id(job_id);
  core_.committer.row_changed(store::kSuspendedJobs.row(job));
}

void Preemption::forget_suspended(uint32_t job_id) {
  if (suspended_.erase(job_id) > 0) core_.committer.row_changed(store::kSuspendedJobs.no_row(job_id));
}

config::PreemptMode Preemption::mode_of(const Job& running) const {
  const config::PreemptionPolicy& policy = core_.config.preemption;
  std::string own;
  if (policy.type == config::PreemptType::kQos) {
    if (const QosRecord* qos = core_.accounts->book().qos(running.qos)) own = qos->preempt_mode();
  } else if (const PartitionRecord* partition = core_.nodes->find_partition(running.details->partition)) {
    own = partition->preempt_mode();
  }
  const auto mode = config::parse_preempt_mode(own);
  return mode ? *mode : policy.mode;
}

uint32_t Preemption::grace_seconds(const Job& running) const {
  if (core_.config.preemption.type == config::PreemptType::kQos) {
    const QosRecord* qos = core_.accounts->book().qos(running.qos);
    return qos == nullptr ? 0 : qos->grace_seconds();
  }
  const PartitionRecord* partition = core_.nodes->find_partition(running.details->partition);
  return partition == nullptr ? 0 : partition->grace_time_seconds();
}

bool Preemption::requeues(const Job& running) const {
  return mode_of(running) == config::PreemptMode::kRequeue && running.requeue_allowed && running.has_script();
}

uint64_t Preemption::rank_of(const Job& running) const {
  if (core_.config.preemption.type == config::PreemptType::kQos) {
    const QosRecord* qos = core_.accounts->book().qos(running.qos);
    return qos == nullptr ? 0 : qos->priority();
  }
  const PartitionRecord* partition = core_.nodes->find_partition(running.details->partition);
  return partition == nullptr ? 0 : partition->priority_tier();
}

bool Preemption::may_preempt(const Job& waiting, const std::string& partition, const Job& running) const {
  if (core_.config.preemption.type == config::PreemptType::kQos) {
    const QosRecord* own = core_.accounts->book().qos(waiting.qos);
    const QosRecord* other = core_.accounts->book().qos(running.qos);
    return own != nullptr && other != nullptr &&
           std::find(own->preempt().begin(), own->preempt().end(), other->name()) != own->preempt().end();
  }
  const PartitionRecord* own = core_.nodes->find_partition(partition);
  const PartitionRecord* other = core_.nodes->find_partition(running.details->partition);
  return own != nullptr && other != nullptr && own->priority_tier() > other->priority_tier();
}

bool Preemption::would_be_stopped_again(const Job& suspended, bool by_anybody) const {
  const auto& jobs = core_.state.jobs();
  return std::any_of(jobs.begin(), jobs.end(), [&](const auto& entry) {
    const Job& waiting = *entry.second;
    const auto& names = waiting.submission->partitions;
    return waiting.queued && (by_anybody || served_.contains(waiting.id)) &&
           std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return may_preempt(waiting, name, suspended); });
  });
}

void Preemption::let_go_on(const sched::Machine& machine, bool before_pass) {
  if (suspended_.empty()) return;
  std::vector<Job*> waiting;
  std::vector<uint32_t> gone;  // ended or resumed by somebody
  for (const uint32_t id : suspended_) {
    Job* job = core_.state.find(id);
    if (job == nullptr || job->state != JOB_SUSPENDED || job->completing) {
      gone.push_back(id);
    } else {
      waiting.push_back(job);
    }
  }
  for (const uint32_t id : gone) forget_suspended(id);
  std::sort(waiting.begin(), waiting.end(), [&](const Job* a, const Job* b) {
    return std::tuple(~rank_of(*a), a->start_time, a->id) < std::tuple(~rank_of(*b), b->start_time, b->id);
  });
  for (Job* job : waiting) {
    const auto& nodes = job->details->nodes;
    const bool free = std::all_of(nodes.begin(), nodes.end(), [&](const NodeAllocation& share) {
      const auto node = machine.layout().find_node(share.node());
      return node && machine.available(*node) && machine.free_cpus(*node) >= int64_t{share.cpus()};
    });
    if (!free || would_be_stopped_again(*job, before_pass)) continue;
    (void)core_.lifecycle->resume(*job);
    forget_suspended(job->id);
  }
}

bool Preemption::may_preempt(const Job& waiting, const std::string& partition, const Running& running) const {
  return std::all_of(running.jobs.begin(), running.jobs.end(),
                     [&](const Job* job) { return may_preempt(waiting, partition, *job); });
}

std::vector<Preemption::Running> Preemption::candidates(const sched::RunningSet& running,
                                                        sched::Machine& later) const {
  std::map<uint32_t, Running> by_id;  // by job id; a heterogeneous job by that of its first component
  std::set<uint32_t> spared;
  for (const auto& [end, placement] : running.by_end()) {
    Job* job = core_.state.find(static_cast<uint32_t>(end.key));
    if (job == nullptr) continue;
    const Job* leader = job->het_job_id != 0 ? core_.state.find(job->het_job_id) : job;
    if (leader == nullptr) continue;
    const bool asked = leader->grace_end() != 0;
    if (job->completing || leader->completing || (leader->state == JOB_RUNNING && asked)) {
      later.release(placement);
      continue;
    }
    const config::PreemptMode mode = mode_of(*job);
    if (job->state == JOB_SUSPENDED && will_lend(placement)) later.release(processors_of(placement));
    if (!may_be_asked(*job, *leader, mode)) {
      spared.insert(leader->id);
      continue;
    }
    Running& one = by_id[leader->id];
    one.jobs.push_back(job);
    one.rank = std::max(one.rank, rank_of(*job));
    one.frees.push_back(mode == config::PreemptMode::kSuspend ? processors_of(placement) : placement);
  }
  std::vector<std::pair<std::tuple<uint64_t, size_t, int64_t, uint32_t>, Running>> sorted;
  for (auto& [id, one] : by_id) {
    if (spared.contains(id)) continue;
    size_t nodes = 0;
    for (const sched::Placement& placement : one.frees) nodes += placement.nodes.size();
    // Of two equal jobs, the smaller and younger first, because less work is lost.
    sorted.emplace_back(std::tuple(one.rank, nodes, -one.jobs.front()->start_time, ~id), std::move(one));
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Running> found;
  for (auto& [order, one] : sorted) found.push_back(std::move(one));
  return found;
}

// The queued jobs that may preempt any of the candidates, highest priority first.
std::vector<Preemption::Asking> Preemption::asking(const sched::PendingQueue& queue,
                                                   const std::vector<Running>& candidates) const {
  std::map<std::pair<uint32_t, std::string>, bool> may_ask;  // by QOS and partition
  std::vector<Asking> asking;
  for (const auto& [id, job] : core_.state.jobs()) {
    if (!job->queued) continue;
    for (size_t i = 0; i < job->choices; ++i) {
      const sched::EntryId entry = World::entry_of(id, i);
      const auto found = queue.find(entry);
      if (!found) continue;
      const std::string& partition = World::partition_of(*job, i);
      // Only these two decide who may preempt whom, and they have few different values.
      const auto [known, is_new] = may_ask.try_emplace({job->qos, partition}, false);
      if (is_new) {
        known->second =
            std::any_of(candidates.begin(), candidates.end(),
                        [&, &job = job](const Running& one) { return may_preempt(*job, partition, one); });
      }
      if (known->second || found->priority == kFirstOfAll)
        asking.push_back({~found->priority, id, job.get(), entry});
    }
  }
  std::sort(asking.begin(), asking.end());
  if (asking.size() > kMostTested) asking.resize(kMostTested);
  return asking;
}

// Chooses the victims so that the request fits, and removes them from `candidates`; nothing if it cannot fit.
std::optional<std::vector<Job*>> Preemption::take_victims(const Job& job, const sched::Request& request,
                                                          std::vector<Running>& candidates,
                                                          sched::Machine& later) const {
  const std::string& partition = later.layout().partitions()[request.partition].name;
  std::vector<std::vector<sched::Placement>> freed;
  std::vector<size_t> which;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!may_preempt(job, partition, candidates[i])) continue;
    freed.push_back(candidates[i].frees);
    which.push_back(i);
  }
  const auto chosen = sched::choose_victims(later, request, freed, core_.now());
  if (!chosen) return std::nullopt;
  std::vector<Job*> victims;
  for (auto index = chosen->rbegin(); index != chosen->rend(); ++index) {
    for (const sched::Placement& placement : freed[*index]) later.release(placement);
    victims.insert(victims.begin(), candidates[which[*index]].jobs.front());
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(which[*index]));
  }
  if (const auto place = sched::place_together(later, request, nullptr, core_.now(),
                                               core_.now() + request.planned_seconds()))
    later.adopt(*place);
  return victims;
}

void Preemption::make_room(const sched::Machine& machine, sched::PendingQueue& queue,
                           const sched::RunningSet& running, const sched::LimitGate& gate) {
  served_.clear();
  if (!core_.config.preemption.enabled() || queue.size() == 0) return;
  sched::Machine later = machine;  // after the jobs that are leaving are gone
  std::vector<Running> candidates = this->candidates(running, later);
  std::set<std::tuple<sched::PendingQueue::ClassId, uint32_t>> in_vain;  // with the QOS
  for (const auto& [rank, id, job, entry] : asking(queue, candidates)) {
    const auto class_id = queue.class_of(entry);
    const sched::Request& request = queue.request(*class_id);
    if (served_.contains(job->id) || in_vain.contains({*class_id, job->qos}) ||
        !machine.schedulable(request.partition) || sched::refused(gate, request))
      continue;
    const auto victims = take_victims(*job, request, candidates, later);
    if (!victims) {
      in_vain.emplace(*class_id, job->qos);
      continue;
    }
    served_.insert(job->id);
    queue.set_priority(entry, kFirstOfAll);
    for (Job* victim : *victims) ask(*victim);
  }
}

std::optional<sched::ExpectedStart> Preemption::foresee(const Job& job, const std::string& partition,
                                                        const sched::Request& request,
                                                        const sched::Machine& machine,
                                                        const sched::RunningSet& running) const {
  if (!core_.config.preemption.enabled() || !machine.schedulable(request.partition)) return std::nullopt;
  sched::Machine later = machine;
  std::vector<std::vector<sched::Placement>> freed;
  std::vector<int64_t> gone;  // when each is gone
  const int64_t now = core_.now();
  for (const Running& one : candidates(running, later)) {
    if (!may_preempt(job, partition, one)) continue;
    freed.push_back(one.frees);
    const Job& first = *one.jobs.front();
    gone.push_back(now + (mode_of(first) == config::PreemptMode::kSuspend ? 0 : grace_seconds(first)));
  }
  const auto chosen = sched::choose_victims(later, request, freed, now);
  if (!chosen || chosen->empty()) return std::nullopt;
  sched::ExpectedStart expected;
  expected.start = now + 1;  // not at once: the victims must end first
  for (const size_t index : *chosen) {
    for (const sched::Placement& placement : freed[index]) later.release(placement);
    expected.start = std::max(expected.start, gone[index]);
  }
  auto place = sched::place_together(later, request, nullptr, now, now + request.planned_seconds());
  if (!place) return std::nullopt;
  expected.placement = std::move(*place);
  return expected;
}

void Preemption::ask(Job& component) {
  Job& running = component.het_job_id == 0 ? component : *core_.state.find(component.het_job_id);
  if (mode_of(running) == config::PreemptMode::kSuspend) {
    remember_suspended(running.id);
    (void)core_.lifecycle->suspend(running);
    return;
  }
  core_.lifecycle->ask_to_give_way(running, core_.now() + grace_seconds(running),
                                   mode_of(running) == config::PreemptMode::kRequeue);
}

}  // namespace minke::engine
