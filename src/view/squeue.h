// The options of squeue, and the table that answers it: filter, lines in order, text.
//
// cli/squeue.cpp fetches and writes; everything here is a function of its arguments and may be tested without
// a daemon. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/job_filter.pb.h"
#include "base/result.h"
#include "view/columns.h"
#include "view/document/document.h"
#include "view/job_fields.h"

namespace minke::model {
class JobRecord;
enum JobState : int;
enum StepKind : int;
}  // namespace minke::model

namespace minke::view {

struct StepSelector {
  api::JobSelector job;
  std::optional<uint32_t> step_id;  // absent: all of the job's
  std::optional<model::StepKind> kind;
};

struct SqueueOptions {
  std::optional<std::string> format;       // -o
  std::optional<std::string> long_format;  // -O
  std::optional<std::string> sort;
  std::vector<api::JobSelector> jobs;
  std::vector<StepSelector> steps;
  std::vector<std::string> users, partitions, names, accounts, qos, nodes, reservations, licenses;
  std::vector<uint32_t> uids;  // of `users`, by the command
  std::vector<model::JobState> states;
  std::optional<std::string> clusters;  // -M
  bool nothing = false;                 // a filter without a name in it: it matches no job
  bool all_states = false;
  bool all_partitions = false;    // those that are hidden, too
  bool completing_state = false;  // COMPLETING named among the states
  bool configuring_state = false;
  bool stopped_state = false;
  bool filter_states = false;  // any named
  bool show_steps = false;
  bool array = false;
  bool per_partition = false;                                    // --priority
  std::map<std::string, uint32_t, std::less<>> partition_tiers;  // with per_partition, by the command
  bool long_list = false;
  bool expand_patterns = false;  // names of files in place of their patterns
  bool start = false;
  bool no_header = false;
  bool no_convert = false;
  bool only_job_state = false;
  bool me = false;
  bool verbose = false;
  std::optional<int64_t> running_over, running_under;  // seconds
  std::optional<uint32_t> not_uid;                     // --notme
  unsigned iterate_seconds = 0;                        // 0: once
  std::optional<DocumentFormat> document;              // --json, --yaml
};

api::JobFilter job_filter(const SqueueOptions& options);

// Returns the lines that the options select, in their order. The records must outlive them. Fails on
// an unknown sort key.
Result<std::vector<JobLine>> job_lines(std::span<const model::JobRecord* const> jobs,
                                       const SqueueOptions& options, const DisplayContext& context);

// Whether short records (QueryJobsRequest::brief) suffice for the table, the order and the filters.
bool brief_records_suffice(const SqueueOptions& options, const Table<JobLine>& table);

// Names unknown fields in `problems`, for stderr; the table omits them.
Table<JobLine> job_table(const SqueueOptions& options, std::vector<std::string>& problems);

}  // namespace minke::view
