// Asynchronous successive halving: trials train a little at first, and the best 1/eta of each rung go on to
// the next, from where they stand (L. Li et al., A System for Massively Parallel Hyperparameter Tuning, 2020:
// ASHA). With several brackets it is Hyperband (L. Li et al., 2018), whose brackets begin on higher rungs.
// Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/result.h"

namespace minke::search {

struct Halving {
  uint64_t min = 1, max = 1;  // of what trains: epochs, steps …
  double eta = 3;
  size_t brackets = 1;
};

Status check(const Halving& settings);
// What a trial has trained at each rung: min, min * eta, … max.
std::vector<uint64_t> rungs(const Halving& settings);

class SuccessiveHalving {
 public:
  explicit SuccessiveHalving(const Halving& settings);

  struct Promotion {
    uint64_t trial = 0, budget = 0;
  };
  // The best trial of a rung that may go on, of the highest rung first; nothing if none may.
  std::optional<Promotion> promotion() const;
  // Of a new trial: how much it trains at first. Brackets take as many trials as in Hyperband.
  uint64_t first_budget() const;

  // It has been given this budget.
  void assign(uint64_t trial, uint64_t budget);
  // It has trained so much. Not finite: it has failed, and does not go on.
  void tell(uint64_t trial, uint64_t budget, double value);

 private:
  struct Rung {
    std::map<uint64_t, double> values;  // of trials that were trained so far
    std::set<uint64_t> promoted;
  };
  struct Bracket {
    size_t first = 0;         // its lowest rung
    double weight = 0;        // its part of all trials
    uint64_t trials = 0;      // it has been given
    std::vector<Rung> rungs;  // from 0; those below `first` stay empty
  };
  size_t next_bracket() const;

  Halving settings_;
  std::vector<uint64_t> budgets_;
  std::vector<Bracket> brackets_;
  std::map<uint64_t, size_t> bracket_of_;  // of each trial
};

}  // namespace minke::search
