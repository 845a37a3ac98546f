// What a trial runs: the command of a sweep file, its macros replaced
// (docs.wandb.ai/guides/sweeps/define-sweep- configuration, "Command macros"). Any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "search/sweep_file.h"

namespace minke::sweep {

struct TrialPlace {
  std::string json_file;   // with the parameters
  std::string checkpoint;  // directory
  std::string directory;   // of the trial
  uint64_t trial = 0, budget = 0;
};

// The words. `variable` gives the value of an environment variable (${envvar:NAME}), and empty for one that
// is not set. Fails on a macro that there is not.
Result<std::vector<std::string>> trial_words(const search::SweepFile& file, const search::Point& point,
                                             const TrialPlace& place,
                                             const std::function<std::string(const std::string&)>& variable);

// The parameters as JSON, with the resource if there is one.
std::string trial_json(const search::SweepFile& file, const search::Point& point, uint64_t budget);
// The same as wandb's library reads a sweep's parameters (WANDB_SWEEP_PARAM_PATH).
std::string wandb_parameters(const search::SweepFile& file, const search::Point& point, uint64_t budget);

}  // namespace minke::sweep
