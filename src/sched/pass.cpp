#include "sched/pass.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "sched/grown_bounds.h"
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
        blocked_in_(machine.layout().partitions().size()) {
    const auto partitions = static_cast<PartitionId>(blocked_in_.size());
    for (PartitionId id = 0; id < partitions; ++id) {
      if (!machine.schedulable(id)) settle(id);
    }
  }

  PassResult run() {
    if (!queue_.tree().empty()) {
      serve_head();
      push({{}, 1, 0, 0, false});
    }
    while (!items_.empty() && !result_.more && !tests_used_up()) {
      std::pop_heap(items_.begin(), items_.end(), Later{});
      Item item = items_.back();
      items_.pop_back();
      if (worth_opening(item.node) && descend(item)) serve(item);
    }
    if (planner_) result_.reservations = planner_->reservations();
    if (recalled_) {
      queue_.withheld().growth = machine_.growth();
      queue_.withheld().availability = machine_.availability();
      queue_.withheld().running = running_.version();
    }
    return std::move(result_);
  }

 private:
  // The order of service: by priority; once something is blocked, by time limit first where that is asked
  // for.
  struct Place {
    std::uint32_t seconds = 0;
    ClassTree::Key key;
    bool before(const Place& other) const {
      return seconds != other.seconds ? seconds < other.seconds : key.before(other.key);
    }
  };
  // A node of the queue's tree: a class that has its turn, or a part of the queue that nobody has opened yet,
  // for the best that may be in it. The ranks are where the Placer may resume: what is free only shrinks
  // during a pass.
  struct Item {
    Place place;
    std::uint32_t node = 0;
    std::uint32_t resume = 0;
    std::uint32_t resume_capped = 0;
    bool capped = false;  // the free choice went against the caps once: choose under them
  };
  struct Later {
    bool operator()(const Item& a, const Item& b) const {
      if (b.place.before(a.place)) return true;
      // Of two that may be equal the one that is a subtree is opened first.
      return !a.place.before(b.place) && a.node > b.node;
    }
  };

  Place place_of(std::uint32_t node) const {
    const ClassTree::Node& part = queue_.tree().node(node);
    return {by_limit_ ? part.demand.seconds : 0, queue_.tree().key(part.best)};
  }

  void push(Item item) {
    if (!worth_opening(item.node)) return;
    item.place = place_of(item.node);
    enqueue(item);
  }
  void enqueue(const Item& item) {
    items_.push_back(item);
    std::push_heap(items_.begin(), items_.end(), Later{});
  }

  // Down to the best class below the item; false where something else has its turn before that. What lies
  // beside the way waits for its own turn.
  bool descend(Item& item) {
    while (!queue_.tree().is_leaf(item.node)) {
      queue_.tree().open(item.node);
      const std::uint32_t left = item.node * 2;
      const std::uint32_t right = left + 1;
      const bool has_left = worth_opening(left);
      const bool has_right = worth_opening(right);
      if (!has_left && !has_right) return false;
      item.node = has_left ? left : right;
      item.place = place_of(item.node);
      if (has_left && has_right) {
        Item other{place_of(right), right, 0, 0, false};
        if (other.place.before(item.place)) std::swap(item, other);
        enqueue(other);
      }
      if (!items_.empty() && items_.front().place.before(item.place)) {
        enqueue(item);
        return false;
      }
    }
    return true;
  }

  // Whether something below the node may start, or may be owed a reservation. Where nothing may, that is
  // noted for the passes to come.
  bool worth_opening(std::uint32_t index) {
    ClassTree& tree = queue_.tree();
    const ClassTree::Node& node = tree.node(index);
    if (node.best == ClassTree::kNone) return false;
    if ((node.partitions & ~settled_) != 0) return true;
    if (!options_.backfill) return false;
    const std::uint64_t blocked_at = tree.blocked_at(index);
    const std::uint64_t since = recalled_ ? tree.shut_at(index) : blocked_at;
    if (since == machine_.growth()) return false;
    if (node.demand.cpus > machine_.free_cpus_in_all() || node.demand.gres > machine_.free_devices_in_all()) {
      tree.shut(index, machine_.growth(), true);
      return false;
    }
    if (!free_since(since).suffices(node.demand)) {
      if (recalled_) tree.shut(index, machine_.growth(), since == blocked_at);
      return false;
    }
    if (now_ + node.demand.seconds <= first_reservation_) return true;
    if (node.demand.cpus <= cpus_beyond_ && node.demand.node_cpus <= node_cpus_beyond_ &&
        left_since(since).suffices(node.demand))
      return true;
    if (shuts_) tree.shut(index, machine_.growth(), false);
    return false;
  }

  // What one node among those that have grown since then can give at the most: now, or to a job that outlasts
  // the begin of the first reservation.
  const NodeBound& free_since(std::uint64_t growth) {
    return free_bounds_.since(growth, machine_.grown(), [&](NodeId node) {
      return std::pair(machine_.free_cpus(node), machine_.free_devices_of(node));
    });
  }
  const NodeBound& left_since(std::uint64_t growth) {
    return left_bounds_.since(growth, machine_.grown(), [&](NodeId node) {
      const Planner::Left left = planner_->left_beyond(node, first_reservation_);
      return std::pair(left.cpus, left.devices);
    });
  }

  // Whether the class, which was seen not to fit, cannot fit yet: no node that has grown since can host even
  // the least part of it.
  bool still_blocked(ClassId class_id, std::uint64_t since) const {
    const Growth& grown = machine_.grown();
    if (grown.all_at() > since || machine_.holds() != nullptr) return false;
    const Request& request = queue_.request(class_id);
    const Placer placer(machine_, View::kFree);
    Placer::Capacity capacity;
    const auto could = [&](const Request& part, NodeId node) {
      const auto rank = machine_.layout().nodes()[node].rank;
      return ((placer.suitable_word(part, rank / 64) >> (rank % 64)) & 1) != 0 &&
             placer.capacity(node, part, capacity);
    };
    for (NodeId node = grown.newest(); node != grown.end() && grown.at(node) > since;
         node = grown.older(node)) {
      if (could(request, node)) return false;
      for (const Request& companion : request.companions) {
        if (could(companion, node)) return false;
      }
    }
    return true;
  }

  // From here on only what can start now matters in that partition.
  void settle(PartitionId partition) {
    if (partition < ClassTree::kSharedBit || blocked_in_.size() <= ClassTree::kSharedBit + 1)
      settled_ |= ClassTree::partition_bit(partition);
  }

  static std::int64_t longest_limit(const Request& request) {
    std::int64_t longest = request.planned_seconds();
    for (const Request& companion : request.companions)
      longest = std::max(longest, companion.planned_seconds());
    return longest;
  }

  // The best of all has its turn before the rest is looked at: mostly it is blocked, and with it all.
  void serve_head() {
    const std::uint32_t best = queue_.tree().node(1).best;
    if (best == ClassTree::kNone) return;
    Item head;
    head.node = queue_.tree().leaf(best);
    only_best_ = true;
    serve(head);
    only_best_ = false;
  }

  // Starts what the class may start, until it is blocked, used up, or another class's turn.
  void serve(Item& item) {
    const ClassId class_id = queue_.tree().node(item.node).best;
    const PartitionId partition = queue_.request(class_id).partition;
    if (!machine_.schedulable(partition) || class_id == blocked_head_) return;
    for (;;) {
      if (!queue_.class_alive(class_id) || (only_best_ && queue_.tree().node(1).best != class_id)) return;
      // The callback may have changed the head.
      item.place = place_of(item.node);
      if (!items_.empty() && items_.front().place.before(item.place)) return enqueue(item);
      if (blocked_in_[partition] > 0 && !options_.backfill) return;
      if (options_.max_starts > 0 && result_.started >= options_.max_starts) {
        result_.more = true;
        return;
      }
      if (refused(options_.gate, queue_.request(class_id))) return;
      auto found = find_place(class_id, item);
      if (!found) return block(class_id);
      start(class_id, std::move(*found));
      if (tests_used_up()) return;
    }
  }

  struct Start {
    Placement placement;
    std::int64_t end = 0;  // expected
  };
  std::optional<Start> find_place(ClassId class_id, Item& turn) {
    const Request& request = queue_.request(class_id);
    const std::int64_t end = now_ + longest_limit(request);
    const std::uint64_t blocked_at = queue_.blocked_at(class_id);
    const std::uint64_t since = recalled_ ? queue_.shut_at(class_id) : blocked_at;
    if (since == machine_.growth()) return std::nullopt;
    if (still_blocked(class_id, since)) {
      shut(class_id, since == blocked_at);
      return std::nullopt;
    }
    // The first node that will do under the caps is the first one that will do, if that is allowed.
    const bool one_node = request.max_nodes == 1 && request.companions.empty() && machine_.holds() == nullptr;
    if (!turn.capped && !(one_node && planner_ && owed_.empty())) {
      auto placement = place(request, nullptr, end, turn.resume);
      if (!placement) {
        // A shorter run may end before something is held.
        if (request.time_min_minutes > 0 && machine_.holds() != nullptr) {
          reserve_for_blocked();
          return find_shorter(request, end);
        }
        shut(class_id, true);
        return std::nullopt;
      }
      reserve_for_blocked();
      if (caps_allow(*placement, end)) return Start{std::move(*placement), end};
      turn.capped = true;
    }
    reserve_for_blocked();
    if (auto placement = place(request, &planner_->caps(), end, turn.resume_capped))
      return Start{std::move(*placement), end};
    if (!turn.capped && !Placer(machine_, View::kFree).select(request, turn.resume)) {
      shut(class_id, true);
      return std::nullopt;
    }
    if (request.time_min_minutes > 0) return find_shorter(request, end);
    if (shuts_) shut(class_id, false);
    return std::nullopt;
  }

  // Without a planner nothing is reserved.
  bool caps_allow(const Placement& placement, std::int64_t end) const {
    if (!planner_) return true;
    if (placement.parts.empty()) return planner_->caps().allow(placement, now_, end);
    return planner_->caps().allow(merged(placement), now_, end);
  }

  void shut(ClassId class_id, bool blocked) {
    queue_.tree().shut(queue_.tree().leaf(class_id), machine_.growth(), blocked);
  }

  // With a limit that is shorter, down to --time-min: the longest that ends before a reservation begins, be
  // it the scheduler's own or an operator's.
  std::optional<Start> find_shorter(const Request& request, std::int64_t longest) {
    std::vector<std::int64_t> ends;
    std::vector<std::int64_t> begins;
    if (planner_) {
      for (const Reservation& reservation : planner_->reservations()) begins.push_back(reservation.start);
    }
    if (machine_.holds() != nullptr) machine_.holds()->add_breakpoints(now_, 1, begins);
    for (const std::int64_t begin : begins) {
      const std::int64_t minutes = (begin - now_) / 60;
      const std::int64_t end = now_ + minutes * 60;
      if (minutes >= request.time_min_minutes && end < longest) ends.push_back(end);
    }
    std::sort(ends.rbegin(), ends.rend());
    for (const std::int64_t end : ends) {
      std::uint32_t from_the_start = 0;
      if (auto placement = place(request, planner_ ? &planner_->caps() : nullptr, end, from_the_start))
        return Start{std::move(*placement), end};
    }
    return std::nullopt;
  }

  std::optional<Placement> place(const Request& request, const Caps* caps, std::int64_t end,
                                 std::uint32_t& resume) {
    ++result_.tested;
    if (any_blocked_) ++result_.backfill_tested;
    return place_together(machine_, request, caps, now_, end, &resume);
  }

  void start(ClassId class_id, Start start) {
    const EntryId entry = queue_.head(class_id).id;
    machine_.allocate(start.placement);
    if (planner_) planner_->started(start.placement, start.end);
    if (start.end > first_reservation_) {
      for (const NodeShare& share : start.placement.nodes) cpus_beyond_ -= share.cpus;
    }
    const Request& request = queue_.request(class_id);
    if (blocked_in_[request.partition] > 0) ++result_.backfilled;
    std::vector<std::int64_t> ends{std::min(start.end, now_ + request.planned_seconds())};
    for (const Request& companion : request.companions) ends.push_back(now_ + companion.planned_seconds());
    queue_.take_from_head(class_id);
    ++result_.started;
    if (start.placement.parts.empty()) {
      const RunKey key = on_start_(entry, start.placement, start.end);
      running_.add(key, start.end, std::move(start.placement));
      return;
    }
    std::vector<Placement> parts = split(start.placement);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const RunKey key = on_start_(entry, parts[i], ends[i]);
      running_.add(key, ends[i], std::move(parts[i]));
    }
  }

  // The first ones of a partition that cannot start are owed a reservation. It is made only when something
  // else could start, since mostly nothing can; nothing will have changed by then.
  void block(ClassId class_id) {
    if (only_best_) blocked_head_ = class_id;
    const Request& request = queue_.request(class_id);
    std::uint32_t& blocked = blocked_in_[request.partition];
    any_blocked_ = true;
    if (options_.backfill && blocked >= options_.reservations_per_partition) return;
    // What needs nodes that are down waits for them, and holds nobody up.
    PendingQueue::Possible& known = queue_.possible(class_id);
    if (known.availability != machine_.availability())
      known = {machine_.availability(), machine_.could_on_available(request)};
    if (!known.possible) return;
    // So does what needs something that a reservation holds.
    const bool held =
        machine_.holds() != nullptr &&
        !Placer(machine_, View::kIdleAvailable, nullptr, now_, now_ + longest_limit(request)).select(request);
    if (held) return;
    ++blocked;
    if (options_.backfill) {
      owed_.push_back({queue_.head(class_id).id, class_id});
      if (!recalled_) recall_withheld();
    }
    if (!options_.backfill || blocked == options_.reservations_per_partition) settle(request.partition);
    if (options_.shortest_first && !by_limit_) {
      by_limit_ = true;
      for (Item& item : items_) item.place = place_of(item.node);
      std::make_heap(items_.begin(), items_.end(), Later{});
    }
  }

  // When the first job has been blocked: what the last passes saw not to fit under a reservation does not fit
  // now either, if the same reservation stands.
  void recall_withheld() {
    const Withheld& known = queue_.withheld();
    recalled_ = true;
    if (!known.known || known.running != running_.version() ||
        known.availability != machine_.availability() || machine_.holds() != nullptr) {
      return queue_.withhold_nothing();
    }
    if (known.growth != machine_.growth() || known.entry != owed_.front().first || known.start <= now_)
      reserve_for_blocked();
  }

  // What does not fit under a single reservation is remembered together with it.
  void remember_reservation() {
    const std::vector<Reservation>& made = planner_->reservations();
    Withheld& known = queue_.withheld();
    shuts_ = made.size() == 1 && machine_.holds() == nullptr;
    if (!shuts_ || !known.known || made.front().start > known.start ||
        !same_amounts(made.front().placement, known.placement)) {
      queue_.withhold_nothing();
      if (!shuts_) return;
      known.placement = made.front().placement;
    }
    known.known = true;
    known.entry = made.front().entry;
    known.start = made.front().start;
  }

  // When that one may have its reservation, if nothing that has happened since the last passes made it later.
  std::optional<std::int64_t> start_known(EntryId entry) {
    const Withheld& known = queue_.withheld();
    if (!known.known || !recalled_ || known.entry != entry) return std::nullopt;
    return known.start;
  }

  void reserve_for_blocked() {
    if (owed_.empty()) return;
    for (const auto& [entry, class_id] : owed_) {
      if (!planner_) planner_.emplace(machine_, running_, now_, queue_.scratch());
      planner_->reserve(entry, queue_.request(class_id), options_.backfill_window_seconds,
                        start_known(entry));
    }
    owed_.clear();
    for (const Reservation& made : planner_->reservations()) {
      first_reservation_ = std::min(first_reservation_, made.start);
    }
    cpus_beyond_ = machine_.free_cpus_in_all() - planner_->cpus_withheld(first_reservation_);
    node_cpus_beyond_ = planner_->most_node_cpus(first_reservation_);
    left_bounds_.forget();
    remember_reservation();
  }

  bool tests_used_up() const {
    return options_.max_backfill_tests > 0 && result_.backfill_tested >= options_.max_backfill_tests;
  }

  Machine& machine_;
  PendingQueue& queue_;
  RunningSet& running_;
  const std::int64_t now_;
  const PassOptions& options_;
  const StartCallback& on_start_;
  PassResult result_;
  std::vector<Item> items_;  // a heap, best at the front
  bool by_limit_ = false;
  std::vector<std::uint32_t> blocked_in_;  // by partition
  bool any_blocked_ = false;
  bool only_best_ = false;
  std::uint32_t blocked_head_ = ClassTree::kNone;  // had its turn before the rest
  bool recalled_ = false;                          // what the queue has shut is shut in this pass too
  bool shuts_ = false;                             // what does not fit under the caps may be shut
  std::vector<std::pair<EntryId, ClassId>> owed_;
  std::optional<Planner> planner_;
  std::uint64_t settled_ = 0;  // partitions, as ClassTree's bits
  // No job that outlasts the begin of the first reservation can have more CPUs than are free beyond it.
  std::int64_t first_reservation_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t cpus_beyond_ = 0;
  std::int64_t node_cpus_beyond_ = 0;  // on one node
  GrownBounds free_bounds_;
  GrownBounds left_bounds_;
};

}  // namespace

PassResult run_pass(Machine& machine, PendingQueue& queue, RunningSet& running, std::int64_t now,
                    const PassOptions& options, const StartCallback& on_start) {
  return Pass(machine, queue, running, now, options, on_start).run();
}

}  // namespace minke::sched
