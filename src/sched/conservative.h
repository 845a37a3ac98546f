// ConservativePlan: every job that waits has its place in time, and keeps it or gets an earlier one
// (conservative backfill with compression).
//
// A job gets the earliest window at its submission. When a job ends, all jobs that have not started are
// placed again, in the order of submission, each with its own place given back first. Only those are looked
// at that can have gained: for a job to move, somewhere before its place something must have become free
// since it was last looked at. Such intervals are kept with the position in the queue up to which they are
// news, and a tree over the queue finds the next job that is small enough for one. What a look at one job has
// told spares the look at larger ones that are planned later. The result is the same as if all had been
// placed again.
//
// Like jobs that follow one another share a position. Placing them again one by one, until none moves, ends
// in the only order of ascending starts in which none can move; in which steps it is reached does not matter.
// So a step goes as far as it can: the place that a job leaves is taken by the next one, and so on, until one
// leaves a place that no other can take at once.
//
// A job whose time has come has started; take_started() tells. Times never go back. Processors only: one pool
// without nodes. Cost of an end: O(log n) for each interval and each step. Owned by one thread; pure.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "sched/availability.h"
#include "sched/like_jobs.h"

namespace minke::sched {

class ConservativePlan {
 public:
  using JobKey = LikeJobs::JobKey;

  explicit ConservativePlan(std::int32_t processors) : free_(processors) {}

  // The start that is planned for it. `processors` is at most what the machine has; `seconds` >= 1.
  std::int64_t submit(JobKey job, std::int32_t processors, std::int64_t seconds, std::int64_t now);
  // A job that started ends; `planned_end` is its start plus its seconds.
  void end(std::int32_t processors, std::int64_t planned_end, std::int64_t now);

  struct Start {
    JobKey job = 0;
    std::int64_t time = 0;
  };
  // The first of the planned starts, Availability::kEnd where nothing waits.
  std::int64_t next_start() const { return tree_.empty() ? Availability::kEnd : tree_[1].first_start; }
  // Takes the job of next_start() out of the plan: it runs from then on. Something must wait.
  Start take_started();

  std::size_t waiting() const { return waiting_; }
  std::uint64_t moves() const { return moves_; }  // of a job into another place
  std::uint64_t looks() const { return looks_; }

 private:
  static constexpr std::int64_t kNever = Availability::kEnd;
  // Of the like jobs below a node of the tree.
  struct Node {
    std::int64_t first_start = kNever;
    std::int64_t last_start = Availability::kBegin;
    std::int64_t shortest = kNever;
    std::int32_t narrowest = 0x7fffffff;
    bool operator==(const Node&) const = default;
  };
  // [begin, end) has got more free processors; news to the positions below `limit`.
  struct Gain {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint32_t limit = 0;
  };
  // What a look has told: no job as wide, as long and as late as that could begin before `start`, as long as
  // nothing becomes free there.
  struct Told {
    std::int32_t processors = 0x7fffffff;
    std::int64_t seconds = 0;
    std::int64_t planned = 0;
    std::int64_t start = 0;
    bool of(const Node& jobs, std::int64_t first_start) const {
      return jobs.narrowest >= processors && jobs.shortest >= seconds && first_start >= planned;
    }
  };
  // A gain at work. Gains that lie in one stretch of free processors are one: what could use several of them
  // is looked at once. So no two have overlapping stretches, and a position is candidate of few of them.
  struct Active {
    Gain gain;
    std::int64_t from = 0;  // of the stretch
    std::int64_t until = 0;
    std::int32_t width = 0;  // free processors, at most
    std::array<Told, 2> told;
  };
  static constexpr std::uint32_t kDone = 0xffffffff;

  void compress(std::int64_t now);
  void look(std::uint32_t position, Active& active, std::int64_t now);
  void move(std::uint32_t position, std::size_t first, Availability::Window window);
  void remove_active(std::size_t from, std::size_t to);
  void add_gain(Gain gain, std::uint32_t next, std::int64_t now);
  bool measure(Active& active, std::int64_t now) const;
  bool possible(std::uint32_t node, const Active& active) const;
  std::uint32_t next_candidate(const Active& active, std::uint32_t next) const;
  void update(std::uint32_t position);
  void join_children(std::uint32_t node);
  void make_room();

  Availability free_;
  std::vector<Node> tree_;      // [1] is the root; the leaves begin at capacity_
  std::vector<LikeJobs> jobs_;  // by position
  std::uint32_t capacity_ = 0;  // of positions, a power of two
  std::uint32_t used_ = 0;      // positions given out, in the order of submission
  std::size_t waiting_ = 0;
  std::vector<Active> active_;             // of the pass at work, in the order of time
  std::vector<std::uint32_t> candidates_;  // of each, the next position it might move
  std::vector<Gain> new_gains_;            // of the look at work
  std::vector<Gain> old_gains_;            // of the pass before: news to those that it had passed already
  std::uint64_t moves_ = 0;
  std::uint64_t looks_ = 0;
};

}  // namespace minke::sched
