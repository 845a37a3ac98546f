// One accounting query in progress, read chunk by chunk.
//
// The newest first are found in an index, a chunk at a time, from where the last chunk ended. For all else
// there are two ways to find the jobs, and the start decides: if the query names jobs, or a window of time
// with few jobs, it first collects the keys of the runs that may match, from indexes; else it reads all jobs
// in order. Either way every row is then tested against the whole query, so the keys need only be a superset.
// Memory: one chunk, and the keys (at most kMostCandidates × 8 bytes).
//
// Used by the reader's thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/job_spec.pb.h"
#include "store/job_row.h"
#include "store/rows.h"
#include "store/sqlite.h"
#include "store/store.h"

namespace minke::store {

// The statements of all reports on one connection.
struct ReportStatements {
  static Result<ReportStatements> prepare(Connection& connection);

  Statement begin, end;
  Statement run, runs_after;                                                        // whole rows
  Statement runs_of_job, runs_of_array, runs_in_window, runs_of_user, runs_active;  // keys only
  Statement newest, newest_of_user;                                                 // keys and ends
  Statement later_run, spec_ids_of_name, spec, steps;
};

class Report {
 public:
  static constexpr size_t kChunkJobs = 256;
  static constexpr size_t kRowsPerTurn = 20'000;  // at most at once, so that other reports get their turns
  static constexpr size_t kMostCandidates = 1U << 18;

  explicit Report(AccountingQuery query);

  struct Part {
    std::vector<AccountedJob> jobs;  // may be empty although there are more
    bool finished = false;
    std::vector<DamagedRow> damaged;  // skipped
  };
  Result<Part> next(ReportStatements& statements);

 private:
  Status collect_candidates(ReportStatements& statements);
  Status collect(Statement& keys);
  Status collect_window(ReportStatements& statements, int64_t from);
  Status collect_jobs(ReportStatements& statements, const std::vector<uint32_t>& ids);
  Status read_candidates(ReportStatements& statements, Part& part);
  Status read_in_order(ReportStatements& statements, Part& part);
  Status read_newest(ReportStatements& statements, Part& part);
  Status read_run(ReportStatements& statements, int64_t run, Part& part);
  Status consider(ReportStatements& statements, const Statement& row, Part& part);
  bool selects(const Statement& row) const;
  Result<bool> is_superseded(ReportStatements& statements, int64_t run);
  Status load_spec(ReportStatements& statements, uint32_t spec_id, Part& part);
  Status read_steps(ReportStatements& statements, int64_t run, AccountedJob& job, Part& part);

  AccountingQuery query_;  // its lists sorted
  bool started_ = false;
  bool too_many_ = false;                           // more candidates than may be kept
  std::optional<std::vector<int64_t>> candidates_;  // none: read all in order
  size_t next_candidate_ = 0;
  int64_t last_run_ = -1;            // read in order: the last one seen
  std::optional<uint32_t> spec_id_;  // the current spec: tasks of an array share one
  model::JobSpec spec_;
};

}  // namespace minke::store
