// What `sstat` tells of a running step. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace minke::engine::slurm {

struct StepUse {
  uint32_t job_id = 0;
  std::string step;  // "batch", "0"
  uint32_t tasks = 0;
  uint64_t cpu_milliseconds = 0, memory_kib = 0, read_kib = 0, write_kib = 0;
};

// What sstat is asked for, without the jobs; and a line of its answer. Nothing: it tells of no usage.
std::vector<std::string> step_use_words();
std::optional<StepUse> step_use_of(std::string_view line);

}  // namespace minke::engine::slurm
