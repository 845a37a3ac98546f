#include "store/report.h"
#include "store/job_row.h"

#include <algorithm>
#include <limits>

namespace minke::store {
namespace {

// The columns of whole rows, behind those that read_job needs.
constexpr int kArrayJobId = kJobColumnCount;
constexpr int kUid = kJobColumnCount + 1;
constexpr int kSubmitTime = kJobColumnCount + 2;
constexpr int kEndTime = kJobColumnCount + 3;

template <typename T>
void sort_unique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// An empty list selects everything.
template <typename T, typename Value>
bool allows(const std::vector<T>& sorted, const Value& value) {
  return sorted.empty() || std::binary_search(sorted.begin(), sorted.end(), value);
}

// An index answers it, which has the runs in the order of their ends: those of one second are sorted here.
std::string newest_of(const char* whose) {
  return std::string("SELECT run, end_time FROM jobs WHERE ") + whose +
         "end_time IS NOT NULL AND end_time BETWEEN ?1 AND ?2 AND (end_time < ?2 OR run < ?3) "
         "ORDER BY end_time DESC, run DESC LIMIT ?4";
}

}  // namespace

Result<ReportStatements> ReportStatements::prepare(Connection& connection) {
  const std::string whole_rows =
      std::string("SELECT ") + kJobColumns + ", array_job_id, uid, submit_time, end_time FROM jobs ";
  const struct {
    Statement ReportStatements::*statement;
    std::string sql;
  } all[] = {
      {&ReportStatements::begin, "BEGIN"},
      {&ReportStatements::end, "COMMIT"},
      {&ReportStatements::run, whole_rows + "WHERE run = ?1"},
      {&ReportStatements::runs_after, whole_rows + "WHERE run > ?1 ORDER BY run"},
      {&ReportStatements::runs_of_job, "SELECT run FROM jobs WHERE run BETWEEN ?1 AND ?2"},
      {&ReportStatements::runs_of_array, "SELECT run FROM jobs WHERE array_job_id = ?1"},
      {&ReportStatements::runs_in_window, "SELECT run FROM jobs WHERE end_time >= ?1 AND submit_time < ?2"},
      {&ReportStatements::runs_of_user,
       "SELECT run FROM jobs WHERE uid = ?3 AND end_time >= ?1 AND submit_time < ?2"},
      {&ReportStatements::newest, newest_of("")},
      {&ReportStatements::newest_of_user, newest_of("uid = ?5 AND ")},
      {&ReportStatements::runs_active, "SELECT run FROM jobs WHERE active = 1"},
      {&ReportStatements::later_run,
       "SELECT 1 FROM jobs WHERE run > ?1 AND run <= ?2 AND submit_time < ?3 LIMIT 1"},
      {&ReportStatements::spec_ids_of_name, "SELECT spec_id FROM specs WHERE name = ?1"},
      {&ReportStatements::spec, "SELECT record FROM specs WHERE spec_id = ?1"},
      {&ReportStatements::steps,
       std::string("SELECT ") + kStepColumns + " FROM steps WHERE run = ?1 ORDER BY step"},
  };
  ReportStatements statements;
  for (const auto& [statement, sql] : all) {
    auto prepared = connection.prepare(sql);
    if (!prepared) return failure(prepared.error());
    statements.*statement = std::move(*prepared);
  }
  return statements;
}

Report::Report(AccountingQuery query) : query_(std::move(query)) {
  sort_unique(query_.job_ids);
  sort_unique(query_.uids);
  sort_unique(query_.names);
  if (query_.until == 0) query_.until = std::numeric_limits<int64_t>::max();
}

Result<Report::Part> Report::next(ReportStatements& statements) {
  // One transaction makes rows, later runs, specs and steps consistent.
  if (auto begun = statements.begin.run(); !begun) return failure(begun.error());
  Part part;
  Status status;
  if (query_.newest_first) {
    status = read_newest(statements, part);
  } else if (!started_) {
    started_ = true;
    status = collect_candidates(statements);
  }
  if (status && !query_.newest_first)
    status = candidates_ ? read_candidates(statements, part) : read_in_order(statements, part);
  auto ended = statements.end.run();
  if (!status) return failure(status.error());
  if (!ended) return failure(ended.error());
  return part;
}

Status Report::collect(Statement& keys) {
  while (true) {
    auto row = keys.step();
    if (!row) return failure(row.error());
    if (!*row) return {};
    candidates_->push_back(keys.integer(0));
    if (candidates_->size() > kMostCandidates) {
      too_many_ = true;
      keys.reset();
      return {};
    }
  }
}

Status Report::collect_jobs(ReportStatements& statements, const std::vector<uint32_t>& ids) {
  Status status;
  for (uint32_t id : ids) {
    statements.runs_of_job.bind(1, first_run(id));
    statements.runs_of_job.bind(2, last_run(id));
    if (status = collect(statements.runs_of_job); !status || too_many_) return status;
    statements.runs_of_array.bind(1, static_cast<int64_t>(id));
    if (status = collect(statements.runs_of_array); !status || too_many_) return status;
  }
  return status;
}

// Collects what ended at or after `from` and was submitted before the end of the window.
Status Report::collect_window(ReportStatements& statements, int64_t from) {
  if (query_.uids.empty()) {
    statements.runs_in_window.bind(1, from);
    statements.runs_in_window.bind(2, query_.until);
    return collect(statements.runs_in_window);
  }
  Status status;
  for (uint32_t uid : query_.uids) {
    statements.runs_of_user.bind(1, from);
    statements.runs_of_user.bind(2, query_.until);
    statements.runs_of_user.bind(3, static_cast<int64_t>(uid));
    if (status = collect(statements.runs_of_user); !status || too_many_) break;
  }
  return status;
}

Status Report::collect_candidates(ReportStatements& statements) {
  candidates_.emplace();
  Status status;
  const int64_t ended_from = std::max(query_.from, query_.ended_since);
  if (!query_.job_ids.empty()) {
    status = collect_jobs(statements, query_.job_ids);
  } else if (!query_.names.empty()) {
    // The id of a spec is that of its job, or of the array.
    for (const std::string& name : query_.names) {
      statements.spec_ids_of_name.bind_text(1, name);
      if (status = collect(statements.spec_ids_of_name); !status || too_many_) break;
    }
    std::vector<uint32_t> spec_ids;
    for (int64_t id : *candidates_) spec_ids.push_back(static_cast<uint32_t>(id));
    candidates_->clear();
    if (status && !too_many_) status = collect_jobs(statements, spec_ids);
  } else if (ended_from > 0) {
    status = collect_window(statements, ended_from);
    if (status && !too_many_ && query_.ended_since == 0) status = collect(statements.runs_active);
  } else {
    too_many_ = true;
  }
  if (!status) return status;
  if (too_many_) {
    candidates_.reset();
  } else {
    sort_unique(*candidates_);
    candidates_->shrink_to_fit();
  }
  return {};
}

Status Report::read_run(ReportStatements& statements, int64_t run, Part& part) {
  statements.run.bind(1, run);
  auto row = statements.run.step();
  if (!row) return failure(row.error());
  if (!*row) return {};
  const Status considered = consider(statements, statements.run, part);
  statements.run.reset();
  return considered;
}

Status Report::read_candidates(ReportStatements& statements, Part& part) {
  size_t rows = 0;
  while (next_candidate_ < candidates_->size() && part.jobs.size() < kChunkJobs && rows < kRowsPerTurn) {
    ++rows;
    if (const Status read = read_run(statements, candidates_->at(next_candidate_++), part); !read)
      return read;
  }
  part.finished = next_candidate_ == candidates_->size();
  return {};
}

Status Report::read_newest(ReportStatements& statements, Part& part) {
  const bool of_one = query_.uids.size() == 1;
  Statement& keys = of_one ? statements.newest_of_user : statements.newest;
  const bool is_first = query_.behind_end == 0;
  keys.bind(1, query_.from);
  keys.bind(2, is_first ? std::numeric_limits<int64_t>::max() : query_.behind_end);
  keys.bind(3, is_first ? std::numeric_limits<int64_t>::max() : query_.behind_run);
  keys.bind(4, static_cast<int64_t>(kChunkJobs));
  if (of_one) keys.bind(5, static_cast<int64_t>(query_.uids.front()));
  std::vector<int64_t> runs;
  while (true) {
    auto row = keys.step();
    if (!row) return failure(row.error());
    if (!*row) break;
    runs.push_back(keys.integer(0));
    query_.behind_run = keys.integer(0);
    query_.behind_end = keys.integer(1);
  }
  part.finished = runs.size() < kChunkJobs;
  for (const int64_t run : runs)
    if (const Status read = read_run(statements, run, part); !read) return read;
  return {};
}

Status Report::read_in_order(ReportStatements& statements, Part& part) {
  statements.runs_after.bind(1, last_run_);
  size_t rows = 0;
  while (part.jobs.size() < kChunkJobs && rows < kRowsPerTurn) {
    auto row = statements.runs_after.step();
    if (!row) return failure(row.error());
    if (!*row) {
      part.finished = true;
      return {};
    }
    ++rows;
    last_run_ = statements.runs_after.integer(0);
    if (auto considered = consider(statements, statements.runs_after, part); !considered) {
      statements.runs_after.reset();
      return considered;
    }
  }
  statements.runs_after.reset();
  return {};
}

bool Report::selects(const Statement& row) const {
  if (row.integer(kSubmitTime) >= query_.until) return false;
  if (!allows(query_.uids, static_cast<uint32_t>(row.integer(kUid)))) return false;
  if (row.is_null(kEndTime)) {
    if (query_.ended_since != 0) return false;
  } else if (row.integer(kEndTime) < std::max(query_.from, query_.ended_since)) {
    return false;
  }
  return allows(query_.job_ids, run_job_id(row.integer(0))) ||
         (!row.is_null(kArrayJobId) &&
          allows(query_.job_ids, static_cast<uint32_t>(row.integer(kArrayJobId))));
}

Result<bool> Report::is_superseded(ReportStatements& statements, int64_t run) {
  statements.later_run.bind(1, run);
  statements.later_run.bind(2, last_run(run_job_id(run)));
  statements.later_run.bind(3, query_.until);
  auto row = statements.later_run.step();
  if (row && *row) statements.later_run.reset();
  return row;
}

Status Report::load_spec(ReportStatements& statements, uint32_t spec_id, Part& part) {
  if (spec_id_ == spec_id) return {};
  spec_id_.reset();
  spec_.Clear();
  statements.spec.bind(1, static_cast<int64_t>(spec_id));
  auto row = statements.spec.step();
  if (!row) return failure(row.error());
  if (*row) {
    auto spec = read_spec(statements.spec, 0, spec_id, part.damaged);
    statements.spec.reset();
    if (spec) spec_ = std::move(*spec);
  }
  spec_id_ = spec_id;
  return {};
}

Status Report::read_steps(ReportStatements& statements, int64_t run, AccountedJob& job, Part& part) {
  statements.steps.bind(1, run);
  while (true) {
    auto found = statements.steps.step();
    if (!found) return failure(found.error());
    if (!*found) return {};
    if (auto step = read_step(statements.steps, part.damaged)) job.steps.push_back(std::move(*step));
  }
}

// Adds the current run to the part if the query selects it.
Status Report::consider(ReportStatements& statements, const Statement& row, Part& part) {
  if (!selects(row)) return {};
  const int64_t run = row.integer(0);
  if (!query_.duplicates) {
    auto superseded = is_superseded(statements, run);
    if (!superseded) return failure(superseded.error());
    if (*superseded) return {};
  }
  if (auto loaded = load_spec(statements, static_cast<uint32_t>(row.integer(1)), part); !loaded)
    return loaded;
  if (!allows(query_.names, spec_.name())) return {};

  auto job = read_job(row, part.damaged);
  if (!job) return {};
  AccountedJob accounted{std::move(*job), spec_, {}};
  if (query_.with_steps) {
    if (const Status read = read_steps(statements, run, accounted, part); !read) return read;
  }
  part.jobs.push_back(std::move(accounted));
  return {};
}

}  // namespace minke::store
