// The fields of the accounting record, and the selection of jobs by a question. cli/sacct.cpp fetches and
// writes; this is pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/job_filter.pb.h"
#include "base/result.h"
#include "model/step_record.pb.h"
#include "text/memory.h"
#include "view/print_fields.h"
#include "view/text.h"

namespace minke::api {
class AccountedJob;
}  // namespace minke::api

namespace minke::model {
class JobRecord;
enum JobState : int;
enum StateReason : int;
}  // namespace minke::model

namespace minke::view {

// One line: the job as a whole (no step), or one of its steps.
struct SacctLine {
  const model::JobRecord* job = nullptr;
  const model::StepRecord* step = nullptr;
  const api::AccountedJob* accounted = nullptr;  // the job with all its steps
  std::optional<uint32_t> waiting_task;          // of an array whose tasks are told one by one
};

struct SacctContext {
  DisplayContext display;
  std::optional<text::Unit> unit;  // --units
};

using SacctField = PrintField<SacctLine, SacctContext>;
using SacctColumn = PrintColumn<SacctField>;
std::span<const SacctField> sacct_fields();  // in alphabetical order, as --helpformat lists them
std::string sacct_help_format();

struct SacctStep {
  api::JobSelector job;
  model::StepKind kind = model::STEP_NORMAL;
  uint32_t step_id = 0;
};

struct SacctQuestion {
  int64_t from = 0;  // s since the epoch; 0: no bound
  int64_t until = 0;
  std::vector<model::JobState> states;
  bool filter_states = false;          // even if no job here can have the named states
  std::vector<api::JobSelector> jobs;  // named by --jobs, whole
  std::vector<SacctStep> steps;        // named by --jobs, single steps
  std::vector<std::string> partitions, names, accounts, qos, nodes, wckeys;
  std::vector<std::string> constraints;   // all of them
  std::vector<std::string> associations;  // their numbers; there is one, 0
  std::vector<model::StateReason> reasons;
  std::optional<std::pair<uint32_t, uint32_t>> num_nodes, num_cpus, time_limit;  // least and most
  bool allocations_only = false;
  bool all_runs = false;   // --duplicates: not only the last run of each job
  bool each_task = false;  // --array: a line for each task that has no record of its own yet
  bool truncate = false;   // --truncate: cuts starts and ends to the window
};

// Returns the lines that answer the question, in order: jobs by id, the tasks of an array together,
// each with its steps.
std::vector<SacctLine> sacct_lines(std::span<const api::AccountedJob* const> jobs,
                                   const SacctQuestion& question);

// Appends 00:00.114 if it is under an hour and has parts of a second, else 00:00:12, 1-02:03:04.
void append_cpu_time(std::string& out, uint64_t microseconds);

}  // namespace minke::view
