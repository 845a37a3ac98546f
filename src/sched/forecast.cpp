#include "sched/forecast.h"

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "sched/entries.h"

namespace minke::sched {
namespace {

constexpr std::uint32_t kStartsOfAPass = 300;  // then another pass goes on at the same moment

}  // namespace

// A copy of the state that lives through its own future.
class ForecastInPieces::Simulation {
 public:
  Simulation(const Machine& machine, const RunningSet& running, std::int64_t now,
             const ForecastOptions& options)
      : machine_(machine), running_(running), options_(options), now_(now) {
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
    learn(entry.id, request);
    enter(entry, request);
  }

  void add_first(const PendingQueue& queue) {
    PendingQueue::Cursor cursor(queue);
    for (std::uint32_t i = 0; i < options_.max_entries; ++i) {
      const auto item = cursor.next();
      if (!item) break;
      add(item->entry, queue.request(item->class_id));
    }
  }

  // What the queue has of this job in any partition counts no more.
  void add_changed(const PendingEntry& entry, const Request& request) {
    add(entry, request);
    changed_ = job_of(entry.id);
  }

  void add_later(std::int64_t from, const PendingEntry& entry, const Request& request) {
    learn(entry.id, request);
    later_ = Later{from, entry, request};
  }

  // Nothing more is added. It ends when `wanted` has started, if given, or when nothing more can be said.
  void set_out(std::optional<EntryId> wanted) {
    wanted_ = wanted;
    options_.believed_end = nullptr;
    options_.believed_seconds = nullptr;
    options_.run_unlimited = nullptr;
    options_.entry_unlimited = nullptr;
    options_.limits = nullptr;
  }

  bool go_on(std::uint32_t passes) {
    for (; passes > 0 && !finished_; --passes) go_on_once();
    return finished_;
  }

  const MachineLayout& layout() const { return machine_.layout(); }
  const std::vector<ExpectedStart>& starts() const { return expected_; }
  std::optional<ExpectedStart> start() const {
    if (!wanted_) return std::nullopt;
    for (const ExpectedStart& start : expected_) {
      if (job_of(start.entry) == job_of(*wanted_)) return start;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  struct Later {
    std::int64_t from = 0;
    PendingEntry entry;
    Request request;
  };
  // Of an entry.
  struct Known {
    std::int64_t believed_seconds = kNever;  // nothing is believed
    bool unlimited = false;
    std::uint32_t limit_group = 0;
    std::size_t companions = 0;  // components that have not started
  };

  EntryId job_of(EntryId entry) const { return entry >> options_.partition_bits; }

  void learn(EntryId entry, const Request& request) {
    Known& known = known_[entry];
    known.companions = request.companions.size();
    if (options_.believed_seconds) known.believed_seconds = options_.believed_seconds(entry);
    if (options_.entry_unlimited) known.unlimited = options_.entry_unlimited(entry);
    if (!limits_) return;
    known.limit_group = request.limit_group;
    if (request.limit_group != 0) limits_->expect(request.limit_group);
    for (const Request& companion : request.companions)
      if (companion.limit_group != 0) limits_->expect(companion.limit_group);
  }

  void enter(const PendingEntry& entry, const Request& request) {
    queue_.insert(entry, request);
    if (options_.partition_bits != 0) entries_of_job_[job_of(entry.id)].push_back(entry.id);
  }

  void go_on_once() {
    if (passes_ >= options_.max_passes || tests_ >= options_.max_tests) {
      finished_ = true;
      return;
    }
    if (later_ && later_->from <= now_) {
      if (!queue_.find(later_->entry.id)) enter(later_->entry, later_->request);
      later_.reset();
    }
    const PassResult result = run_one_pass();
    starts_ += result.started;
    tests_ += result.tested;
    if (starts_ >= options_.max_starts || (wanted_ && started_.contains(job_of(*wanted_)))) {
      finished_ = true;
      return;
    }
    if (result.more) return;
    ++passes_;
    finished_ = !advance();
  }

  PassResult run_one_pass() {
    PassOptions pass_options = options_.pass;
    if (limits_) pass_options.gate = [this](std::uint32_t group) { return limits_->refuse(group, now_); };
    pass_options.max_starts =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(kStartsOfAPass, options_.max_starts - starts_));
    return run_pass(machine_, queue_, running_, now_, pass_options,
                    [this](EntryId entry, const Placement& placement, std::int64_t end) {
                      return start(entry, placement, end);
                    });
  }

  // Writes the start down, and when the run will end. Returns the run's key.
  RunKey start(EntryId entry, const Placement& placement, std::int64_t end) {
    Known& known = known_.at(entry);
    if (started_.insert(job_of(entry)).second) {
      expected_.push_back({entry, now_, placement, after_unlimited_});
    } else if (entry == wanted_ && known.companions > 0) {  // all components start together
      --known.companions;
      std::vector<NodeShare>& nodes = expected_.back().placement.nodes;
      nodes.insert(nodes.end(), placement.nodes.begin(), placement.nodes.end());
    }
    start_once(entry);
    const bool believed = known.believed_seconds != kNever && now_ + known.believed_seconds < end;
    if (believed) end = now_ + known.believed_seconds;
    ends_.insert({end, ++next_key_});
    if (!believed && known.unlimited) unknown_ends_.insert(next_key_);
    if (limits_ && known.limit_group != 0) limits_->started(next_key_, known.limit_group, now_);
    return next_key_;
  }

  // On to the next moment when something changes; what has ended until then is released. False: nothing more
  // will happen.
  bool advance() {
    const std::int64_t change =
        machine_.holds() == nullptr ? kNever : machine_.holds()->next_change(now_).value_or(kNever);
    if (!later_ && (queue_.size() == 0 || (running_.size() == 0 && change == kNever))) return false;
    std::int64_t next = ends_.empty() ? kNever : ends_.begin()->time;
    if (later_) next = std::min(next, later_->from);
    if (change <= next && change != kNever) {
      next = change;
      machine_.hold_changed();
    }
    now_ = std::max(now_ + 1, next);
    for (; !ends_.empty() && ends_.begin()->time <= now_; ends_.erase(ends_.begin())) {
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
  ForecastOptions options_;
  std::int64_t now_;
  std::uint32_t passes_ = 0;
  std::uint64_t starts_ = 0;
  std::uint64_t tests_ = 0;
  bool finished_ = false;
  std::optional<EntryId> wanted_;
  std::optional<Later> later_;
  std::unique_ptr<ForeseenLimits> limits_;                            // null: there are none
  std::unordered_map<EntryId, Known> known_;                          // looked up only
  std::optional<EntryId> changed_;                                    // job
  std::unordered_map<EntryId, std::vector<EntryId>> entries_of_job_;  // looked up only
  std::set<RunningSet::End> ends_;                                    // believed
  RunKey next_key_ = 0;
  std::unordered_set<RunKey> unknown_ends_;  // of `ends_`; looked up only
  bool after_unlimited_ = false;             // one of them has passed
  std::unordered_set<EntryId> started_;      // jobs; looked up only
  std::vector<ExpectedStart> expected_;
};

namespace {

std::optional<ExpectedStart> start_of(ForecastInPieces forecast) {
  while (!forecast.go_on(std::numeric_limits<std::uint32_t>::max())) {
  }
  return forecast.start();
}

}  // namespace

ForecastInPieces::ForecastInPieces(std::unique_ptr<Simulation> simulation)
    : simulation_(std::move(simulation)) {}
ForecastInPieces::ForecastInPieces(ForecastInPieces&&) noexcept = default;
ForecastInPieces& ForecastInPieces::operator=(ForecastInPieces&&) noexcept = default;
ForecastInPieces::~ForecastInPieces() = default;

bool ForecastInPieces::go_on(std::uint32_t passes) {
  return simulation_->go_on(passes);
}

const std::vector<ExpectedStart>& ForecastInPieces::starts() const {
  return simulation_->starts();
}

std::optional<ExpectedStart> ForecastInPieces::start() const {
  return simulation_->start();
}

const MachineLayout& ForecastInPieces::layout() const {
  return simulation_->layout();
}

ForecastInPieces ForecastInPieces::forecast(const Machine& machine, const PendingQueue& queue,
                                            const RunningSet& running, std::int64_t now,
                                            const ForecastOptions& options) {
  auto simulation = std::make_unique<Simulation>(machine, running, now, options);
  simulation->add_first(queue);
  simulation->set_out(std::nullopt);
  return ForecastInPieces(std::move(simulation));
}

ForecastInPieces ForecastInPieces::forecast_entry(const Machine& machine, const PendingQueue& queue,
                                                  const RunningSet& running, EntryId entry, std::int64_t now,
                                                  const ForecastOptions& options) {
  const auto wanted = queue.find(entry);
  MINKE_CHECK(wanted.has_value());
  auto simulation = std::make_unique<Simulation>(machine, running, now, options);
  simulation->add_first(queue);
  simulation->add(*wanted, *queue.request_of(entry));
  simulation->set_out(entry);
  return ForecastInPieces(std::move(simulation));
}

ForecastInPieces ForecastInPieces::forecast_changed(const Machine& machine, const PendingQueue& queue,
                                                    const RunningSet& running, EntryId entry,
                                                    const Request& request, std::int64_t now,
                                                    const ForecastOptions& options) {
  const auto wanted = queue.find(entry);
  MINKE_CHECK(wanted.has_value());
  auto simulation = std::make_unique<Simulation>(machine, running, now, options);
  simulation->add_changed(*wanted, request);
  simulation->add_first(queue);
  simulation->set_out(entry);
  return ForecastInPieces(std::move(simulation));
}

ForecastInPieces ForecastInPieces::forecast_later(const Machine& machine, const PendingQueue& queue,
                                                  const RunningSet& running, const PendingEntry& entry,
                                                  const Request& request, std::int64_t from, std::int64_t now,
                                                  const ForecastOptions& options) {
  auto simulation = std::make_unique<Simulation>(machine, running, now, options);
  simulation->add_first(queue);
  simulation->add_later(std::max(from, now), entry, request);
  simulation->set_out(entry.id);
  return ForecastInPieces(std::move(simulation));
}

std::vector<ExpectedStart> forecast(const Machine& machine, const PendingQueue& queue,
                                    const RunningSet& running, std::int64_t now,
                                    const ForecastOptions& options) {
  auto all = ForecastInPieces::forecast(machine, queue, running, now, options);
  while (!all.go_on(std::numeric_limits<std::uint32_t>::max())) {
  }
  return all.starts();
}

std::optional<ExpectedStart> forecast_entry(const Machine& machine, const PendingQueue& queue,
                                            const RunningSet& running, EntryId entry, std::int64_t now,
                                            const ForecastOptions& options) {
  if (!queue.find(entry)) return std::nullopt;
  return start_of(ForecastInPieces::forecast_entry(machine, queue, running, entry, now, options));
}

std::optional<ExpectedStart> forecast_changed(const Machine& machine, const PendingQueue& queue,
                                              const RunningSet& running, EntryId entry,
                                              const Request& request, std::int64_t now,
                                              const ForecastOptions& options) {
  return start_of(ForecastInPieces::forecast_changed(machine, queue, running, entry, request, now, options));
}

std::optional<ExpectedStart> forecast_later(const Machine& machine, const PendingQueue& queue,
                                            const RunningSet& running, const PendingEntry& entry,
                                            const Request& request, std::int64_t from, std::int64_t now,
                                            const ForecastOptions& options) {
  return start_of(
      ForecastInPieces::forecast_later(machine, queue, running, entry, request, from, now, options));
}

std::optional<ExpectedStart> forecast_request(const Machine& machine, const PendingQueue& queue,
                                              const RunningSet& running, const Request& request,
                                              std::uint64_t priority, std::int64_t now,
                                              const ForecastOptions& options) {
  MINKE_CHECK(!queue.find(kHypotheticalEntry));
  return forecast_later(machine, queue, running, {kHypotheticalEntry, priority, ~std::uint64_t{0}, 1},
                        request, now, now, options);
}

}  // namespace minke::sched
