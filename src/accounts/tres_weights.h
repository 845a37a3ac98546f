// TRES weights: they decide what a job is billed, and how much its size adds to its priority.
//
// The text is Slurm's, "CPU=1.0,Mem=0.25G,GRES/gpu:a100=4": a weight per unit. Memory counts per MiB, or with
// a suffix per GiB and so on. "rgu:NAME" stands for the bundle of the cluster NAME of the Digital Research
// Alliance of Canada (billing.h), under the maximum rule. Pure; any thread.
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
  bool maximum = false;  // largest term (all GRES as one term) plus licenses; else the sum
  bool empty() const { return each.empty(); }
};

// An error names the part of the text that is not understood.
Result<TresWeights> parse_tres_weights(std::string_view text);
// Without weights, the billing is the number of CPUs.
double billing_of(const TresCounts& counts, const TresWeights& weights);

}  // namespace minke::accounts
