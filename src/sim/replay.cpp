#include "sim/replay.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "model/cluster.pb.h"
#include "sched/conservative.h"
#include "sched/pass.h"
#include "sched/pending_queue.h"
#include "sched/preemption.h"
#include "sched/running_set.h"
#include "sim/arrivals.h"
#include "sim/limits.h"
#include "sim/multifactor.h"
#include "sim/preempting.h"
#include "sim/score.h"

namespace minke::sim {
namespace {

struct End {
  std::int64_t time = 0;
  std::uint64_t order = 0;  // of starts
  std::uint32_t job = 0;
  bool operator>(const End& other) const {
    return time != other.time ? time > other.time : order > other.order;
  }
};
using Ends = std::priority_queue<End, std::vector<End>, std::greater<>>;

// A replay by passes.
class PassReplay {
 public:
  PassReplay(std::span<const TraceJob> jobs, std::span<const std::uint32_t> request_of,
             std::span<const sched::Request> requests, const sched::Machine& machine, Policy policy,
             Forecaster* forecaster, Multifactor* priorities, Limits* limits, const Preempting* preempting,
             std::span<TraceJob> moved, std::atomic<std::uint64_t>* submitted)
      : jobs_(jobs),
        arrivals_(jobs, moved, submitted),
        request_of_(request_of),
        requests_(requests),
        machine_(machine),
        forecaster_(forecaster),
        priorities_(priorities),
        limits_(limits),
        preempting_(preempting),
        last_start_(preempting == nullptr ? 0 : jobs.size()),
        orders_(moved.size()),
        released_(jobs.size()) {
    replay_.starts.assign(jobs.size(), kNeverStarted);
    options_.backfill = policy != Policy::kFcfs;
    options_.shortest_first = policy == Policy::kEasySjbf;
    if (limits_) options_.gate = [this](std::uint32_t group) { return limits_->refuse(group, now_); };
    if (policy == Policy::kConservative) options_.reservations_per_partition = 0xffffffff;
  }

  Replay run(Rules rules) {
    rules == Rules::kStudy ? run_study() : run_daemon();
    return std::move(replay_);
  }

 private:
  void run_study() {
    while (arrivals_.any() || !ends_.empty()) {
      if (arrivals_.any() && (ends_.empty() || arrivals_.time() <= ends_.top().time)) {
        now_ = arrivals_.time();
        release_overdue();
        const std::uint32_t next = arrivals_.take();
        submit(next);
        if (machine_.free_cpus(0) >= static_cast<std::int64_t>(jobs_[next].processors)) pass();
      } else {
        const std::uint32_t job = ends_.top().job;
        now_ = ends_.top().time;
        ends_.pop();
        release_overdue();
        release(job);
        arrivals_.ended(job, now_);
        pass();
      }
    }
  }

  void run_daemon() {
    while (arrivals_.any() || !ends_.empty()) {
      now_ = std::min(arrivals_.time(), calculation_);
      if (!ends_.empty()) now_ = std::min(now_, ends_.top().time);
      for (; !ends_.empty() && ends_.top().time == now_; ends_.pop()) {
        const std::uint32_t job = ends_.top().job;
        if (preempting_ != nullptr && last_start_[job] != ends_.top().order) continue;
        release(job);
        arrivals_.ended(job, now_);
      }
      while (arrivals_.any() && arrivals_.time() == now_) submit(arrivals_.take());
      if (now_ >= calculation_) calculate();
      pass();
      while (preempting_ != nullptr && make_room()) pass();
      if (priorities_ == nullptr) continue;
      if (queue_.size() == 0) {
        calculation_ = sched::Availability::kEnd;
      } else if (calculation_ <= now_ || calculation_ == sched::Availability::kEnd) {
        calculation_ = now_ + priorities_->calc_period();
      }
    }
  }

  // Calculates as the daemon does while jobs are pending.
  void calculate() {
    priorities_->calculate(now_);
    std::erase_if(waiting_, [this](std::uint32_t job) {
      return !queue_.set_priority(job, priorities_->priority(job, now_));
    });
  }

  void submit(std::uint32_t job) {
    if (request_of_[job] == kNoRequest) return arrivals_.ended(job, now_);
    const sched::Request* request = &requests_[request_of_[job]];
    sched::Request limited;
    if (limits_) {
      const auto group = limits_->submitted(job);
      if (!group) return arrivals_.ended(job, now_);
      if (*group != 0) {
        limited = *request;
        limited.limit_group = *group;
        request = &limited;
      }
    }
    std::uint64_t priority = 0;
    if (priorities_) {
      priorities_->submitted(job);
      priority = priorities_->priority(job, now_);
      waiting_.push_back(job);
    }
    queue_.insert({job, priority, order_of(job), 1}, *request);
    if (forecaster_) forecaster_->submitted(job, machine_, queue_, running_, now_, options_);
  }

  // Of its first submission.
  std::uint64_t order_of(std::uint32_t job) {
    if (orders_.empty()) return job;
    if (orders_[job] == 0) orders_[job] = ++submitted_;
    return orders_[job];
  }

  void release(std::uint32_t job) {
    if (released_[job]) return;
    released_[job] = true;
    stop(job);
  }

  // Called when it stops running.
  void stop(std::uint32_t job) {
    if (forecaster_) forecaster_->ended(job);
    if (priorities_) priorities_->ended(job, now_);
    if (limits_) {
      limits_->ended(job, now_);
      machine_.limits_changed();
    }
    machine_.release(*running_.remove(job));
  }

  // Jobs that have reached their limits end in this very second.
  void release_overdue() {
    while (running_.size() > 0 && running_.by_end().begin()->first.time <= now_) {
      release(static_cast<std::uint32_t>(running_.by_end().begin()->first.key));
    }
  }

  void pass() {
    if (queue_.size() == 0) return;
    ++replay_.passes;
    sched::run_pass(machine_, queue_, running_, now_, options_,
                    [this](sched::EntryId entry, const sched::Placement&, std::int64_t) {
                      const auto job = static_cast<std::uint32_t>(entry);
                      replay_.starts[job] = now_;
                      if (forecaster_) forecaster_->started(job, now_);
                      if (priorities_) priorities_->started(job, now_);
                      if (limits_) limits_->started(job, now_);
                      if (preempting_) last_start_[job] = starts_;
                      ends_.push({now_ + jobs_[job].runs, starts_++, job});
                      return sched::RunKey{entry};
                    });
  }

  // Makes room for the first pending job that may preempt others: they go back to the queue, and it comes
  // first. The choice is the daemon's (engine/embedded/scheduling/preemption.cpp).
  bool make_room() {
    std::vector<std::pair<std::uint32_t, sched::Placement>> candidates;
    for (const auto& [end, placement] : running_.by_end()) {
      const auto job = static_cast<std::uint32_t>(end.key);
      if (preempting_->may_be_asked(job)) candidates.emplace_back(job, placement);
    }
    if (candidates.empty() || queue_.size() == 0) return false;
    std::sort(candidates.begin(), candidates.end(), [&](const auto& a, const auto& b) {
      return std::tuple(preempting_->rank(a.first), a.second.nodes.size(), -replay_.starts[a.first],
                        ~a.first) < std::tuple(preempting_->rank(b.first), b.second.nodes.size(),
                                               -replay_.starts[b.first], ~b.first);
    });
    std::set<std::pair<sched::PendingQueue::ClassId, std::uint32_t>> in_vain;  // with the group
    sched::PendingQueue::Cursor cursor(queue_);
    for (std::uint32_t tested = 0; tested < kMostAsking; ++tested) {
      const auto item = cursor.next();
      if (!item) break;
      const auto job = static_cast<std::uint32_t>(item->entry.id);
      if (in_vain.contains({item->class_id, preempting_->group_of(job)})) continue;
      const sched::Request& request = queue_.request(item->class_id);
      std::vector<std::vector<sched::Placement>> freed;
      std::vector<std::uint32_t> whose;
      for (const auto& [running, placement] : candidates) {
        if (!preempting_->may_ask(job, running)) continue;
        freed.push_back({placement});
        whose.push_back(running);
      }
      const auto chosen = freed.empty() || sched::refused(options_.gate, request)
                              ? std::nullopt
                              : sched::choose_victims(machine_, request, freed, now_);
      if (!chosen || chosen->empty()) {
        in_vain.emplace(item->class_id, preempting_->group_of(job));
        continue;
      }
      const sched::EntryId asking = item->entry.id;
      for (const std::size_t index : *chosen) give_way(whose[index]);
      queue_.set_priority(asking, ~std::uint64_t{0});
      return true;
    }
    return false;
  }

  void give_way(std::uint32_t job) {
    ++replay_.preempted;
    stop(job);
    last_start_[job] = ~std::uint64_t{0};
    submit(job);
  }

  static constexpr std::uint32_t kMostAsking = 200;  // pending ones, for each pass
  const std::span<const TraceJob> jobs_;
  Arrivals arrivals_;
  const std::span<const std::uint32_t> request_of_;
  const std::span<const sched::Request> requests_;
  sched::Machine machine_;
  Forecaster* const forecaster_;
  Multifactor* const priorities_;
  Limits* const limits_;
  const Preempting* const preempting_;
  std::vector<std::uint64_t> last_start_;  // by job, as End::order; only with preemption
  std::vector<std::uint32_t> orders_;      // by job; empty: as in the trace
  std::uint32_t submitted_ = 0;
  std::vector<std::uint32_t> waiting_;  // only if priorities change; some have started since
  std::int64_t calculation_ = sched::Availability::kEnd;
  sched::PendingQueue queue_;
  sched::RunningSet running_;
  sched::PassOptions options_;
  Ends ends_;
  std::uint64_t starts_ = 0;
  std::vector<bool> released_;
  std::int64_t now_ = 0;
  Replay replay_;
};

struct PlannedEnd {
  std::int64_t time = 0;
  std::int64_t start = 0;
  std::uint32_t job = 0;
  auto operator<=>(const PlannedEnd&) const = default;
};

Replay replay_conservative(std::span<const TraceJob> jobs, std::uint32_t processors,
                           std::span<TraceJob> moved, std::atomic<std::uint64_t>* submitted) {
  Replay replay;
  replay.starts.assign(jobs.size(), kNeverStarted);
  replay.promised.assign(jobs.size(), kNeverStarted);
  sched::ConservativePlan plan(static_cast<std::int32_t>(processors));
  std::priority_queue<PlannedEnd, std::vector<PlannedEnd>, std::greater<>> ends;
  Arrivals arrivals(jobs, moved, submitted);
  for (;;) {
    std::int64_t now = sched::Availability::kEnd;
    if (arrivals.any()) now = arrivals.time();
    if (!ends.empty()) now = std::min(now, ends.top().time);
    if (plan.waiting() > 0 && plan.next_start() <= now) {
      const auto started = plan.take_started();
      replay.starts[started.job] = started.time;
      ends.push({started.time + jobs[started.job].runs, started.time, started.job});
    } else if (arrivals.any() && arrivals.time() <= now) {
      const std::uint32_t next = arrivals.take();
      const TraceJob& job = jobs[next];
      if (job.processors > processors) {
        arrivals.ended(next, now);
      } else {
        replay.promised[next] = plan.submit(next, static_cast<std::int32_t>(job.processors), job.asks, now);
      }
    } else if (!ends.empty()) {
      const TraceJob& job = jobs[ends.top().job];
      arrivals.ended(ends.top().job, now);
      const std::int64_t planned_end = ends.top().start + job.asks;
      ends.pop();
      plan.end(static_cast<std::int32_t>(job.processors), planned_end, now);
    } else {
      break;
    }
  }
  replay.moves = plan.moves();
  return replay;
}

sched::Machine machine_of_processors(std::uint32_t processors) {
  model::NodeRecord node;
  node.set_name("processors");
  node.set_cpus(processors);
  sched::PartitionNodes partition{"all", {"processors"}};
  return sched::Machine::build(std::span(&node, 1), std::span(&partition, 1)).value();
}

}  // namespace

std::optional<Policy> policy_of(std::string_view word) {
  if (word == "fcfs") return Policy::kFcfs;
  if (word == "easy") return Policy::kEasy;
  if (word == "easy-sjbf") return Policy::kEasySjbf;
  if (word == "conservative") return Policy::kConservative;
  return std::nullopt;
}

Replay replay_processors(std::span<const TraceJob> jobs, std::uint32_t processors, Policy policy, Rules rules,
                         Forecaster* forecaster, std::span<TraceJob> moved,
                         std::atomic<std::uint64_t>* submitted) {
  if (policy == Policy::kConservative) return replay_conservative(jobs, processors, moved, submitted);
  std::vector<sched::Request> requests;
  std::vector<std::uint32_t> request_of(jobs.size(), kNoRequest);
  std::unordered_map<std::uint64_t, std::uint32_t> known;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].processors > processors) continue;
    const std::uint64_t shape =
        std::uint64_t{jobs[i].processors} << 32 | static_cast<std::uint64_t>(jobs[i].asks);
    const auto [entry, is_new] = known.try_emplace(shape, static_cast<std::uint32_t>(requests.size()));
    if (is_new) {
      sched::Request request;
      request.cpus_per_task = jobs[i].processors;
      request.time_limit_minutes = static_cast<std::uint32_t>(jobs[i].asks / 60);
      request.time_limit_extra_seconds = static_cast<std::uint32_t>(jobs[i].asks % 60);
      requests.push_back(request);
    }
    request_of[i] = entry->second;
  }
  return PassReplay(jobs, request_of, requests, machine_of_processors(processors), policy, forecaster,
                    nullptr, nullptr, nullptr, moved, submitted)
      .run(rules);
}

Replay replay_placed(std::span<const TraceJob> jobs, std::span<const std::uint32_t> request_of,
                     std::span<const sched::Request> requests, const sched::Machine& machine, Policy policy,
                     Forecaster* forecaster, Multifactor* priorities, Limits* limits,
                     const Preempting* preempting, std::span<TraceJob> moved,
                     std::atomic<std::uint64_t>* submitted) {
  return PassReplay(jobs, request_of, requests, machine, policy, forecaster, priorities, limits, preempting,
                    moved, submitted)
      .run(Rules::kDaemon);
}

}  // namespace minke::sim
