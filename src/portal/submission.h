// Submits a job as its user would: by this program's sbatch, so that the same rules hold, with the same
// words, on Minke's own cluster and on a real Slurm. Blocking; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace minke::portal {

struct Submission {
  std::string script;
  std::vector<std::string> options;  // of sbatch: "--time=10"
  // NAME=VALUE: all that the job gets besides Slurm's own; none: this process's environment.
  std::optional<std::vector<std::string>> environment;
  bool only_test = false;
};

struct Submitted {
  uint32_t job_id = 0;  // 0: only tested
  std::string notes;    // what sbatch said on standard error
};

// A file without a name, from its beginning on: a program's input.
Result<os::UniqueFd> memory_file(std::string_view content);

// Errors: sbatch's words without its name, with Slurm's number where they are Slurm's.
Result<Submitted> submit(const Submission& submission);

}  // namespace minke::portal
