// ConservativePlan: every job that waits has its place in time, and keeps it or gets an earlier one
// (conservative backfill with compression).
//
// A job gets the earliest window at its submission. When a job ends, all jobs that have not started are
// placed again, in the order of submission, each with its own place given back first. The result is that of
// doing just this, but only those are looked at that can have gained: for a job to move, somewhere before its
// place something must have become free since it was last looked at (a gain). There are two ways to move:
//  - it slides: it begins as much earlier as its processors are free right before its place. Nearly all
//    moves are slides, and only where a gain touches the job's start can it slide further than before.
//    Gains mark slots of time, so that most jobs are passed over at the price of one bit.
//  - it jumps into a window that ends before its place begins. Few gains are part of a window that is as wide
//    and as long as any job that waits: those are kept in a list, with what is known of their windows.
// What a job leaves is a gain for those behind it in this pass, and for those before it in the next.
//
// Like jobs that follow one another share a position. Placing them again one by one, until none moves, ends
// in the only order of ascending starts in which none can move; in which steps it is reached does not matter.
// So a step goes as far as it can: the place that a job leaves is taken by the next one, and so on, until one
// leaves a place that no other can take at once. And like jobs of which each begins when the one before it
// ends slide as one.
//
// A job whose time has come has started; take_started() tells. Times never go back. Processors only: one pool
// without nodes. Cost of an end: a few operations for each position, O(log n) for each move. Owned by one
// thread; pure.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/availability.h"
#include "sched/demand.h"
#include "sched/gains.h"
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
  std::int64_t next_start() const { return next_start_; }
  // Takes the job of next_start() out of the plan: it runs from then on. Something must wait.
  Start take_started();

  std::size_t waiting() const { return waiting_; }
  std::uint64_t moves() const { return moves_; }  // of a job into another place

 private:
  static constexpr std::int64_t kNever = Availability::kEnd;
  static constexpr std::uint32_t kGroup = 64;   // positions
  static constexpr std::uint64_t kRecount = 8;  // ends, until the demand is counted anew
  // What is known of the like jobs of a position, side by side.
  struct Place {
    std::int64_t first_start = kNever;
    std::int64_t last_start = Availability::kBegin;  // the same where there is one job
    std::int64_t seconds = 0;
    std::int32_t processors = 0;
  };
  // Of kGroup positions.
  struct Group {
    std::int64_t first_start = kNever;
    std::int64_t last_start = Availability::kBegin;
  };

  void look(std::uint32_t position, std::int64_t now);
  Availability::Window window(std::uint32_t position, std::int64_t now);
  bool jump(std::uint32_t position, std::int64_t now);
  void slide(std::uint32_t position, std::int64_t now);
  std::size_t end_of_train(const LikeJobs& jobs, std::size_t first, std::int64_t by) const;
  void slide_train(std::uint32_t position, std::size_t first, std::size_t last, std::int64_t by,
                   std::int64_t now);
  void use_gains(std::uint32_t position, std::size_t first, std::int64_t now);
  std::int64_t first_begin(Gains::Gain gain, const LikeJobs& jobs, std::int64_t now) const;
  Availability::Window search(const LikeJobs& jobs, std::int64_t from, std::int64_t before) const;
  void move(std::uint32_t position, std::size_t first, Availability::Window window, std::int64_t now);
  void update(std::uint32_t position);
  void refresh(std::uint32_t group);
  void set_next_start();
  void count_demand();
  void make_room();

  Availability free_;
  std::vector<LikeJobs> jobs_;  // by position, in the order of submission
  std::vector<Place> places_;   // by position
  std::vector<Group> groups_;
  std::size_t room_ = kGroup;  // positions, until those that wait close up
  bool has_moved_ = false;     // something in the group that is looked at
  std::uint64_t ends_ = 0;
  std::int64_t next_start_ = kNever;
  std::size_t waiting_ = 0;
  Demand demand_;
  Gains gains_;
  std::uint64_t moves_ = 0;
};

}  // namespace minke::sched
