// A search as a state machine: it is asked for what to try next, and told what came of it. It has no clock
// and no files; the same seed and the same answers in the same order give the same search. Pure; one thread
// at a time.
//
// A trial is one set of parameters (of a population: one member). It is trained in one piece, or in several
// that go on from each other's state: an Assignment is one piece. Whoever runs them keeps a journal of what
// was asked and told; restore() and tell() in that order make the same search again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "search/early_stop.h"
#include "search/halving.h"
#include "search/population.h"
#include "search/sampler.h"

namespace minke::search {

enum class Goal { kMinimize, kMaximize };
// The value of a trial that failed without one.
enum class Impute { kWorst, kBest, kLatest };

struct Plan {
  Space space;
  Sampler sampler;
  Goal goal = Goal::kMinimize;
  Impute impute = Impute::kWorst;
  std::optional<Impute> impute_while_running;
  bool has_metric = true;        // false: a trial that ends well is done, whatever it wrote
  std::optional<double> target;  // a value that is good enough: no more trials
  uint64_t trials = 0;           // at most; 0: no end but that of a grid
  std::optional<EarlyStop> early_stop;
  std::optional<Halving> halving;
  std::optional<PopulationSettings> population;
};

struct Assignment {
  uint64_t trial = 0;   // from 1
  uint64_t budget = 0;  // train until so much has been done; 0: nobody says
  Point point;
  std::optional<uint64_t> source;  // trial whose state it goes on from
};

enum class Fate { kRuns, kPaused, kDone, kFailed, kStopped };

struct Trial {
  uint64_t number = 0;
  Point point;
  Fate fate = Fate::kRuns;
  uint64_t budget = 0;
  std::optional<double> value;  // the best, by the goal
  std::optional<double> latest;
  std::map<uint64_t, double> at_budget;
};

class Search {
 public:
  explicit Search(Plan plan);
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  // What to train next; nothing if there is nothing now. Does not change the search: restore() takes what was
  // asked.
  std::optional<Assignment> next() const;
  // It is being trained.
  void restore(const Assignment& assignment);
  // The trial has logged `count` values so far; the best and the last.
  void report(uint64_t trial, uint64_t count, double best, double latest);
  // Whether to stop it, because others are better.
  bool should_stop(uint64_t trial) const;
  // The piece that is trained has ended. Without a finite value the trial has failed; a value that was
  // reported before counts for what was stopped.
  enum class End { kComplete, kFailed, kStopped };
  void tell(uint64_t trial, End end, std::optional<double> value);

  bool is_done() const;  // nothing is trained, and nothing will be
  const std::map<uint64_t, Trial>& trials() const { return trials_; }
  const Trial* best() const;  // null: none has a value
  const Plan& plan() const { return plan_; }
  // Smaller is better: of a maximum, minus the value.
  double loss(double value) const { return plan_.goal == Goal::kMinimize ? value : -value; }
  size_t running() const;

 private:
  std::vector<Observation> history() const;
  double imputed(Impute impute, const Trial& trial) const;
  bool target_is_met() const;

  Plan plan_;
  std::map<uint64_t, Trial> trials_;
  std::optional<EarlyStopping> early_stopping_;
  std::optional<SuccessiveHalving> halving_;
  std::optional<Population> population_;
};

// All that must hold between the parts of a plan. The message says what to change.
Status check(const Plan& plan);

}  // namespace minke::search
