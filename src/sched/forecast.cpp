#include "sched/forecast.h"

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace minke::sched {
namespace {

// A copy of the state that lives through its own future.
class Simulation {
 public:
  Simulation(const Machine& machine, const RunningSet& running, const ForecastOptions& options)
      : machine_(machine), running_(running), options_(options) {
    for (const auto& [end, placement] : running.by_end()) {
      next_key_ = std::max(next_key_, end.key);
      const std::int64_t believed = options.believed_end ? options.believed_end(end.key) : end.time;
      ends_.insert({std::min(end.time, believed), end.key});
      if (believed >= end.time && options.run_unlimited && options.run_unlimited(end.key))
        unknown_ends_.insert(end.key);
    }
    if (options.limits) limits_ = options.limits();
  }

  void add(const PendingEntry& entry, const Request& request) {
    if (queue_.find(entry.id) || job_of(entry.id) == changed_) return;
    queue_.insert(entry, request);
    if (limits_ && request.limit_group != 0) limit_groups_[entry.id] = request.limit_group;
    if (options_.partition_bits != 0) entries_of_job_[job_of(entry.id)].push_back(entry.id);
  }

  // What the queue has of this job in any partition counts no more.
  void add_changed(const PendingEntry& entry, const Request& request) {
    add(entry, request);
    changed_ = job_of(entry.id);
  }

  void add_later(std::int64_t from, const PendingEntry& entry, const Request& request) {
    later_ = Later{from, entry, request};
  }

  // Until `wanted` has started, if given, or nothing more can be said.
  std::vector<ExpectedStart> run(std::int64_t now, std::optional<EntryId> wanted) {
    std::uint64_t starts = 0;
    std::uint64_t tests = 0;
    for (std::uint32_t pass = 0; pass < options_.max_passes && tests < options_.max_tests; ++pass) {
      if (later_ && later_->from <= now) {
        add(later_->entry, later_->request);
        later_.reset();
      }
      const PassResult result = run_one_pass(now, static_cast<std::uint32_t>(options_.max_starts - starts));
      starts += result.started;
      tests += result.tested;
      if (starts >= options_.max_starts || (wanted && started_.contains(job_of(*wanted)))) break;
      if (!advance(now)) break;
    }
    return std::move(expected_);
  }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  struct Later {
    std::int64_t from = 0;
    PendingEntry entry;
    Request request;
  };

  EntryId job_of(EntryId entry) const { return entry >> options_.partition_bits; }

  PassResult run_one_pass(std::int64_t now, std::uint32_t max_starts) {
    PassOptions pass_options = options_.pass;
    if (limits_) pass_options.gate = [&](std::uint32_t group) { return limits_->refuse(group, now); };
    pass_options.max_starts = max_starts;
    return run_pass(machine_, queue_, running_, now, pass_options,
                    [&](EntryId entry, const Placement& placement, std::int64_t end) {
                      return start(entry, placement, now, end);
                    });
  }

  // Writes the start down, and when the run will end. Returns the run's key.
  RunKey start(EntryId entry, const Placement& placement, std::int64_t now, std::int64_t end) {
    if (started_.insert(job_of(entry)).second) expected_.push_back({entry, now, placement, after_unlimited_});
    start_once(entry);
    const bool believed = options_.believed_seconds && now + options_.believed_seconds(entry) < end;
    if (believed) end = now + options_.believed_seconds(entry);
    ends_.insert({end, ++next_key_});
    if (!believed && options_.entry_unlimited && options_.entry_unlimited(entry))
      unknown_ends_.insert(next_key_);
    if (const auto group = limit_groups_.find(entry); group != limit_groups_.end())
      limits_->started(next_key_, group->second, now);
    return next_key_;
  }

  // On to the next moment when something changes; what has ended until then is released. False: nothing more
  // will happen.
  bool advance(std::int64_t& now) {
    const std::int64_t change =
        machine_.holds() == nullptr ? kNever : machine_.holds()->next_change(now).value_or(kNever);
    if (!later_ && (queue_.size() == 0 || (running_.size() == 0 && change == kNever))) return false;
    std::int64_t next = ends_.empty() ? kNever : ends_.begin()->time;
    if (later_) next = std::min(next, later_->from);
    if (change <= next && change != kNever) {
      next = change;
      machine_.hold_changed();
    }
    now = std::max(now + 1, next);
    for (; !ends_.empty() && ends_.begin()->time <= now; ends_.erase(ends_.begin())) {
      machine_.release(*running_.remove(ends_.begin()->key));
      if (limits_) limits_->ended(ends_.begin()->key);
      after_unlimited_ |= unknown_ends_.contains(ends_.begin()->key);
    }
    if (limits_) machine_.limits_changed();
    return true;
  }

  // What has started in one partition does not wait in the others.
  void start_once(EntryId entry) {
    const auto of_job = entries_of_job_.find(job_of(entry));
    if (of_job == entries_of_job_.end() || of_job->second.size() == 1) return;
    const auto left = queue_.find(entry);
    for (const EntryId other : of_job->second) {
      if (other != entry) queue_.set_startable(other, left ? left->startable : 0);
    }
  }

  Machine machine_;
  RunningSet running_;
  PendingQueue queue_;
  const ForecastOptions& options_;
  std::optional<Later> later_;
  std::unique_ptr<ForeseenLimits> limits_;                            // null: there are none
  std::unordered_map<EntryId, std::uint32_t> limit_groups_;           // looked up only
  std::optional<EntryId> changed_;                                    // job
  std::unordered_map<EntryId, std::vector<EntryId>> entries_of_job_;  // looked up only
  std::set<RunningSet::End> ends_;                                    // believed
  RunKey next_key_ = 0;
  std::unordered_set<RunKey> unknown_ends_;  // of `ends_`; looked up only
  bool after_unlimited_ = false;             // one of them has passed
  std::unordered_set<EntryId> started_;      // jobs; looked up only
  std::vector<ExpectedStart> expected_;
};

void add_first_entries(Simulation& simulation, const PendingQueue& queue, std::uint32_t count) {
  PendingQueue::Cursor cursor(queue);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto item = cursor.next();
    if (!item) break;
    simulation.add(item->entry, queue.request(item->class_id));
  }
}

std::optional<ExpectedStart> start_of(EntryId entry, std::vector<ExpectedStart> expected,
                                      const ForecastOptions& options) {
  for (auto& start : expected) {
    if (start.entry >> options.partition_bits == entry >> options.partition_bits) return std::move(start);
  }
  return std::nullopt;
}

}  // namespace

std::vector<ExpectedStart> forecast(const Machine& machine, const PendingQueue& queue,
                                    const RunningSet& running, std::int64_t now,
                                    const ForecastOptions& options) {
  Simulation simulation(machine, running, options);
  add_first_entries(simulation, queue, options.max_entries);
  return simulation.run(now, std::nullopt);
}

std::optional<ExpectedStart> forecast_entry(const Machine& machine, const PendingQueue& queue,
                                            const RunningSet& running, EntryId entry, std::int64_t now,
                                            const ForecastOptions& options) {
  const auto wanted = queue.find(entry);
  if (!wanted) return std::nullopt;
  Simulation simulation(machine, running, options);
  add_first_entries(simulation, queue, options.max_entries);
  simulation.add(*wanted, *queue.request_of(entry));
  return start_of(entry, simulation.run(now, entry), options);
}

std::optional<ExpectedStart> forecast_changed(const Machine& machine, const PendingQueue& queue,
                                              const RunningSet& running, EntryId entry,
                                              const Request& request, std::int64_t now,
                                              const ForecastOptions& options) {
  const auto wanted = queue.find(entry);
  MINKE_CHECK(wanted.has_value());
  Simulation simulation(machine, running, options);
  simulation.add_changed(*wanted, request);
  add_first_entries(simulation, queue, options.max_entries);
  return start_of(entry, simulation.run(now, entry), options);
}

std::optional<ExpectedStart> forecast_later(const Machine& machine, const PendingQueue& queue,
                                            const RunningSet& running, const PendingEntry& entry,
                                            const Request& request, std::int64_t from, std::int64_t now,
                                            const ForecastOptions& options) {
  Simulation simulation(machine, running, options);
  add_first_entries(simulation, queue, options.max_entries);
  simulation.add_later(std::max(from, now), entry, request);
  return start_of(entry.id, simulation.run(now, entry.id), options);
}

std::optional<ExpectedStart> forecast_request(const Machine& machine, const PendingQueue& queue,
                                              const RunningSet& running, const Request& request,
                                              std::uint64_t priority, std::int64_t now,
                                              const ForecastOptions& options) {
  constexpr EntryId kHypothetical = ~EntryId{0};
  MINKE_CHECK(!queue.find(kHypothetical));
  Simulation simulation(machine, running, options);
  add_first_entries(simulation, queue, options.max_entries);
  simulation.add({kHypothetical, priority, ~std::uint64_t{0}, 1}, request);
  return start_of(kHypothetical, simulation.run(now, kHypothetical), options);
}

}  // namespace minke::sched
