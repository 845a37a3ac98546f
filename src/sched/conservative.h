// ConservativePlan: every waiting job has a planned place in time, and keeps it or gets an earlier one
// (conservative backfill with compression).
//
// A job gets the earliest window at its submission. When a job ends, all jobs that have not started are
// planned again in the order of submission; each first gives its own place back. The result is the same as
// doing exactly this, but only jobs that may have gained are looked at. A job can move only if processors
// before its place became free since the job was last looked at (a gain). It moves in one of two ways:
//  - It slides: it starts earlier by as long as its processors are free right before its place. Nearly all
//    moves are slides. A job can slide further than before only if a gain touches its start. Gains mark
//    slots of time, so that passing over most jobs costs one bit test each.
//  - It jumps into a window that ends before its place begins. Few gains are part of a window that is as wide
//    and as long as some waiting job needs. These gains are in a list, with what is known of their windows.
// The place that a job leaves is a gain for later jobs in this pass, and for earlier jobs in the next pass.
//
// Equal jobs that follow one another share a position. If they are planned one by one until none moves, the
// result is always the same ascending list of starts, whatever the steps are.
// So one step goes as far as it can: the next job takes the place that a job leaves, and so on, until a job
// leaves a place that no other can take at once. Equal jobs of which each starts when the one before it ends
// slide together.
//
// A job starts when its planned time comes; take_started() returns it. Times never go back. There are only
// processors: one pool without nodes. An end costs a few operations per position, and O(log n) per move.
// Owned by one thread; pure.
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

  // Returns the planned start. `processors` is at most what the machine has; `seconds` >= 1.
  std::int64_t submit(JobKey job, std::int32_t processors, std::int64_t seconds, std::int64_t now);
  // Tells that a started job has ended. `planned_end` is its start plus its seconds.
  void end(std::int32_t processors, std::int64_t planned_end, std::int64_t now);

  struct Start {
    JobKey job = 0;
    std::int64_t time = 0;
  };
  // The earliest planned start; Availability::kEnd if no job waits.
  std::int64_t next_start() const { return next_start_; }
  // Removes the job of next_start() from the plan: it runs from then on. At least one job must wait.
  Start take_started();

  std::size_t waiting() const { return waiting_; }
  std::uint64_t moves() const { return moves_; }  // of a job to another place

 private:
  static constexpr std::int64_t kNever = Availability::kEnd;
  static constexpr std::uint32_t kGroup = 64;   // positions
  static constexpr std::uint64_t kRecount = 8;  // ends, until the demand is counted anew
  // What is known of the equal jobs at a position, side by side in memory.
  struct Place {
    std::int64_t first_start = kNever;
    std::int64_t last_start = Availability::kBegin;  // equals first_start if there is one job
    std::int64_t seconds = 0;
    std::int32_t processors = 0;
  };
  // Summary of kGroup positions.
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
  std::size_t room_ = kGroup;  // positions that may be used before the waiting ones are compacted
  bool has_moved_ = false;     // whether something in the current group has moved
  std::uint64_t ends_ = 0;
  std::int64_t next_start_ = kNever;
  std::size_t waiting_ = 0;
  Demand demand_;
  Gains gains_;
  std::uint64_t moves_ = 0;
};

}  // namespace minke::sched
