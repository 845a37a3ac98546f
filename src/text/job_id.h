// Job ids as people type them: 12, 12_3, 12_[1-5,9], 12+1, 12.batch, 12.0, 12_3.extern, and lists of these.
// A sluid (text/sluid.h) may stand for the number.
//
// Pure; may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/job_terms.pb.h"
#include "model/step_record.pb.h"

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::text {

struct StepReference {
  model::StepKind kind = model::STEP_NORMAL;
  uint32_t step_id = 0;  // of STEP_NORMAL
};

struct JobReference {
  uint32_t job_id = 0;
  model::ArraySpec tasks;              // no ranges: the job, or every task of the array
  std::optional<uint32_t> het_offset;  // 12+1: of a component of a heterogeneous job
  std::optional<StepReference> step;
};

// Fails with "Invalid job id specified". "12_*" is "12"; a "%N" within the brackets is allowed, as squeue
// prints it.
Result<JobReference> parse_job_id(std::string_view text);

// Items are separated by commas (outside brackets) or spaces; empty items are skipped.
Result<std::vector<JobReference>> parse_job_id_list(std::string_view text);

std::string format_job_id(const JobReference& reference);

// The id as squeue and sacct show it: "12", "12_3", "12+1", and "12_[1-5%2]" for pending tasks (at most
// `max_tasks_length` characters of them, see format_array_tasks).
std::string format_job_id(const model::JobRecord& job, size_t max_tasks_length = 64);
// The number that squeue shows first: an array's for its tasks.
uint32_t shown_number(const model::JobRecord& job);
// How many jobs a record stands for: the tasks of an array that wait are one record.
uint64_t jobs_in(const model::JobRecord& job);
std::string format_step_id(const model::StepRecord& step);  // "12.batch", "12_3.0"

}  // namespace minke::text
