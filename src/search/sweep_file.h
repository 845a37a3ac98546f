// Sweep files, as W&B has them (docs.wandb.ai/guides/sweeps/define-sweep-configuration), and what Minke adds
// to them: conditions of parameters, more methods, successive halving, populations, sbatch's options. Pure;
// any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "search/search.h"

namespace minke::search {

struct SweepFile {
  std::string name, description;
  std::string program;
  std::vector<std::string> command;  // with macros; empty: W&B's default
  std::string metric;                // its name; empty: none is named
  std::string resource;              // the parameter that says how long to train; empty: there is none
  uint64_t jobs = 0;                 // at a time; 0: it does not say
  std::vector<std::string> sbatch;   // options for the trials' jobs
  Plan plan;
  std::vector<std::string> notes;  // what is left aside, for its user
};

inline constexpr size_t kMaxSweepBytes = size_t{1} << 20;

// Errors begin with "line N: ", and say what to write instead.
Result<SweepFile> read_sweep_file(std::string_view text);

}  // namespace minke::search
