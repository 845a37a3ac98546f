// Weights of TRES: what a job is billed, and how much its size adds to its priority.
//
// The text is Slurm's, "CPU=1.0,Mem=0.25G,GRES/gpu:a100=4": for each unit; memory for each MiB, or with a
// suffix for each GiB and so on. "rgu:NAME" stands for the bundle of that cluster of the Digital Research
// Alliance of Canada (billing.h), under the maximum rule. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "accounts/limit_ledger.h"
#include "base/result.h"

namespace minke::accounts {

struct TresWeights {
  std::vector<std::pair<std::string, double>> each;  // names as in TresCounts
  bool maximum = false;  // the largest term counts (all GRES are one), and licenses on top; else their sum
  bool empty() const { return each.empty(); }
};

// An error names the part that is not understood.
Result<TresWeights> parse_tres_weights(std::string_view text);
// Without weights it counts the CPUs.
double billing_of(const TresCounts& counts, const TresWeights& weights);

}  // namespace minke::accounts
