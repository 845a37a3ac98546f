// Slurm's lexicographically sortable ids of jobs: "s" and 13 letters, as "s0B3ZK0F800801" (Slurm 26.05).
//
// An id is made of the second of the submission and the job's number, so that it needs no memory of its own:
// later jobs sort behind earlier ones, a job that is requeued has another, and the number can be read from
// it. Pure; may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::text {

struct Sluid {
  int64_t submit_time = 0;  // s since the epoch
  uint32_t job_id = 0;
};

std::string format_sluid(const Sluid& sluid);
std::string format_sluid(const model::JobRecord& job);

// Letters in any case. Nothing for other texts.
std::optional<Sluid> parse_sluid(std::string_view text);

}  // namespace minke::text
