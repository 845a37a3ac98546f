#include "sched/pass.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sched/placer.h"
#include "sched/planner.h"

namespace minke::sched {
namespace {

using ClassId = PendingQueue::ClassId;

class Pass {
 public:
  Pass(Machine& machine, PendingQueue& queue, RunningSet& running, std::int64_t now,
       const PassOptions& options, const StartCallback& on_start)
      : machine_(machine),
        queue_(queue),
        running_(running),
        now_(now),
        options_(options),
        on_start_(on_start),
        blocked_in_(machine.layout().partitions().size()) {}

  PassResult run() {
    for (ClassId id = 0; id < queue_.class_slots(); ++id) {
      if (queue_.class_alive(id) && machine_.schedulable(queue_.request(id).partition)) {
        turns_.push_back({queue_.head(id), id, queue_.request(id).planned_seconds(), 0, 0, false});
      }
    }
    std::make_heap(turns_.begin(), turns_.end(), later_);
    while (!turns_.empty() && !result_.more && !tests_used_up()) {
      std::pop_heap(turns_.begin(), turns_.end(), later_);
      Turn turn = turns_.back();
      turns_.pop_back();
      serve(turn);
    }
    if (planner_) result_.reservations = planner_->reservations();
    return std::move(result_);
  }

 private:
  // A class and the entry that speaks for it. The ranks are where the Placer may resume: what is free only
  // shrinks during a pass.
  struct Turn {
    PendingEntry head;
    ClassId class_id = 0;
    std::int64_t planned_seconds = 0;
    std::uint32_t resume = 0;
    std::uint32_t resume_capped = 0;
    bool capped = false;  // the free choice went against the caps once: choose under them
  };
  struct Later {
    bool shortest_first = false;
    bool operator()(const Turn& a, const Turn& b) const {
      if (shortest_first && a.planned_seconds != b.planned_seconds)
        return a.planned_seconds > b.planned_seconds;
      return PendingQueue::before(b.head, a.head);
    }
  };

  static std::int64_t longest_limit(const Request& request) {
    std::int64_t longest = request.planned_seconds();
    for (const Request& companion : request.companions)
      longest = std::max(longest, companion.planned_seconds());
    return longest;
  }

  // Starts what the class may start, until it is blocked, used up, or another class's turn.
  void serve(Turn& turn) {
    const PartitionId partition = queue_.request(turn.class_id).partition;
    for (;;) {
      if (!queue_.class_alive(turn.class_id)) return;
      // The callback may have changed the head.
      turn.head = queue_.head(turn.class_id);
      if (!turns_.empty() && later_(turn, turns_.front())) {
        turns_.push_back(turn);
        std::push_heap(turns_.begin(), turns_.end(), later_);
        return;
      }
      if (blocked_in_[partition] > 0 && !options_.backfill) return;
      if (options_.max_starts > 0 && result_.started >= options_.max_starts) {
        result_.more = true;
        return;
      }
      auto found = find_place(turn);
      if (!found) return block(turn);
      start(turn, std::move(*found));
      if (tests_used_up()) return;
    }
  }

  struct Start {
    Placement placement;
    std::int64_t end = 0;  // expected
  };
  std::optional<Start> find_place(Turn& turn) {
    const Request& request = queue_.request(turn.class_id);
    const std::int64_t end = now_ + longest_limit(request);
    if (queue_.blocked_at(turn.class_id) == machine_.growth()) return std::nullopt;
    if (!turn.capped) {
      auto placement = place(request, nullptr, end, turn.resume);
      if (!placement) {
        queue_.set_blocked_at(turn.class_id, machine_.growth());
        return std::nullopt;
      }
      reserve_for_blocked();
      if (!planner_ || planner_->caps().allow(merged(*placement), now_, end))
        return Start{std::move(*placement), end};
      turn.capped = true;
    }
    reserve_for_blocked();
    if (auto placement = place(request, &planner_->caps(), end, turn.resume_capped))
      return Start{std::move(*placement), end};
    return request.time_min_minutes > 0 ? find_shorter(request, end) : std::nullopt;
  }

  // With a limit that is shorter, down to --time-min: the longest that ends before a reservation begins.
  std::optional<Start> find_shorter(const Request& request, std::int64_t longest) {
    std::vector<std::int64_t> ends;
    for (const Reservation& reservation : planner_->reservations()) {
      const std::int64_t minutes = (reservation.start - now_) / 60;
      const std::int64_t end = now_ + minutes * 60;
      if (minutes >= request.time_min_minutes && end < longest) ends.push_back(end);
    }
    std::sort(ends.rbegin(), ends.rend());
    for (const std::int64_t end : ends) {
      std::uint32_t from_the_start = 0;
      if (auto placement = place(request, &planner_->caps(), end, from_the_start))
        return Start{std::move(*placement), end};
    }
    return std::nullopt;
  }

  std::optional<Placement> place(const Request& request, const Caps* caps, std::int64_t end,
                                 std::uint32_t& resume) {
    ++result_.tested;
    if (any_blocked_) ++backfill_tests_;
    return place_together(machine_, request, caps, now_, end, &resume);
  }

  void start(const Turn& turn, Start start) {
    machine_.allocate(start.placement);
    if (planner_) planner_->started(start.placement, start.end);
    const Request& request = queue_.request(turn.class_id);
    std::vector<std::int64_t> ends{std::min(start.end, now_ + request.planned_seconds())};
    for (const Request& companion : request.companions) ends.push_back(now_ + companion.planned_seconds());
    queue_.take_from_head(turn.class_id);
    ++result_.started;
    if (start.placement.parts.empty()) {
      const RunKey key = on_start_(turn.head.id, start.placement, start.end);
      running_.add(key, start.end, std::move(start.placement));
      return;
    }
    std::vector<Placement> parts = split(start.placement);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const RunKey key = on_start_(turn.head.id, parts[i], ends[i]);
      running_.add(key, ends[i], std::move(parts[i]));
    }
  }

  // The first ones of a partition that cannot start are owed a reservation. It is made only when something
  // else could start, since mostly nothing can; nothing will have changed by then.
  void block(const Turn& turn) {
    const Request& request = queue_.request(turn.class_id);
    std::uint32_t& blocked = blocked_in_[request.partition];
    any_blocked_ = true;
    if (options_.backfill && blocked >= options_.reservations_per_partition) return;
    // What needs nodes that are down waits for them, and holds nobody up.
    if (!machine_.could_on_available(request)) return;
    ++blocked;
    if (options_.backfill) owed_.push_back({turn.head.id, turn.class_id});
    if (options_.shortest_first && !later_.shortest_first) {
      later_.shortest_first = true;
      std::make_heap(turns_.begin(), turns_.end(), later_);
    }
  }

  void reserve_for_blocked() {
    for (const auto& [entry, class_id] : owed_) {
      if (!planner_) planner_.emplace(machine_, running_, now_);
      planner_->reserve(entry, queue_.request(class_id), options_.backfill_window_seconds);
    }
    owed_.clear();
  }

  bool tests_used_up() const {
    return options_.max_backfill_tests > 0 && backfill_tests_ >= options_.max_backfill_tests;
  }

  Machine& machine_;
  PendingQueue& queue_;
  RunningSet& running_;
  const std::int64_t now_;
  const PassOptions& options_;
  const StartCallback& on_start_;
  PassResult result_;
  std::vector<Turn> turns_;  // a heap, best at the front
  Later later_;
  std::vector<std::uint32_t> blocked_in_;  // by partition
  bool any_blocked_ = false;
  std::uint64_t backfill_tests_ = 0;
  std::vector<std::pair<EntryId, ClassId>> owed_;
  std::optional<Planner> planner_;
};

}  // namespace

PassResult run_pass(Machine& machine, PendingQueue& queue, RunningSet& running, std::int64_t now,
                    const PassOptions& options, const StartCallback& on_start) {
  return Pass(machine, queue, running, now, options, on_start).run();
}

}  // namespace minke::sched
