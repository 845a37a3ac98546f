// The options of sbatch, salloc and srun: one table. Everything else about options follows from it: parsing,
// #SBATCH lines, environment variables, help, usage and man pages.
//
// The table is constant; may be read from any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "options/option.h"
#include "submit/job_request.h"

namespace minke::submit {

using options::ArgumentKind;

enum class Disposition {
  kHonoured,
  kAccepted,  // harmless here: has no effect, or is only kept with the job; `reason` says why
  kRefused,   // would change what the job does, and is impossible here; `reason` says why
};

// The arguments of a setter.
struct Assignment {
  JobRequest& request;
  const Invocation& invocation;
  const Option& option;
  std::optional<std::string_view> value;
  std::string_view text() const { return value.value_or(std::string_view()); }
};

// An Error's message follows "sbatch: error: "; its code is the exit status.
using Setter = Status (*)(const Assignment&);

struct Option {
  std::string_view name;
  char letter;  // '\0': none
  ArgumentKind argument;
  unsigned commands;  // of Command's bits
  // Input variables, separated by blanks. "TIMELIMIT" is SBATCH_TIMELIMIT, SALLOC_TIMELIMIT, SLURM_TIMELIMIT
  // (srun); a word "sbatch:NAME", "salloc:NAME" or "srun:NAME" is NAME for that command alone, in place of
  // the first form.
  std::string_view environment;
  Disposition disposition;
  std::string_view argument_name;
  std::string_view help;
  std::string_view reason;
  Setter set;  // null if there is nothing to keep

  bool belongs_to(Command command) const { return (commands & static_cast<unsigned>(command)) != 0; }
};

std::span<const Option> all_options();

// The environment variables that stand for `option` in `command`, the more general first.
std::vector<std::string> input_variables(const Option& option, Command command);

}  // namespace minke::submit
