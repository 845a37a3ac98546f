#include "store/rows.h"

#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "model/step_record.pb.h"
#include "store/job_row.h"

namespace minke::store {
namespace {

void bind_or_null(Statement& statement, int index, const std::string& bytes) {
  if (bytes.empty()) {
    statement.bind_null(index);
  } else {
    statement.bind(index, bytes);
  }
}

void bind_key(Statement& statement, const RowKey& key) {
  if (const auto* name = std::get_if<std::string>(&key)) {
    statement.bind_text(1, *name);
  } else {
    statement.bind(1, std::get<int64_t>(key));
  }
}

// 0, 1 or 2: see schema.h.
int64_t outcome(const model::JobRecord& record) {
  if (!has_ended(record)) return 0;
  return record.state() == model::JOB_COMPLETE && record.exit_code() == 0 ? 2 : 1;
}

bool parse(std::string_view bytes, google::protobuf::MessageLite& message) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace

bool has_ended(const model::JobRecord& record) {
  return record.state() > model::JOB_SUSPENDED;
}

bool is_active(const model::JobRecord& record) {
  return !has_ended(record) || record.completing();
}

int64_t step_key(const model::StepRecord& step) {
  return static_cast<int64_t>(step.kind()) << 32 | step.step_id();
}

Result<RowWriter> RowWriter::prepare(Connection& connection) {
  struct {
    Statement RowWriter::*statement;
    const char* sql;
  } const statements[] = {
      {&RowWriter::job_,
       "INSERT INTO jobs(run, array_job_id, array_task_id, spec_id, uid, active, outcome, submit_time, "
       "end_time, "
       "script, environment, owner, record) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) "
       "ON CONFLICT(run) DO UPDATE SET array_job_id = ?2, array_task_id = ?3, spec_id = ?4, uid = ?5, "
       "active = ?6, outcome = ?7, submit_time = ?8, end_time = ?9, script = ?10, environment = ?11, "
       "owner = ?12, record = ?13"},
      {&RowWriter::spec_,
       "INSERT INTO specs(spec_id, name, record) VALUES(?1, ?2, ?3) "
       "ON CONFLICT(spec_id) DO UPDATE SET name = ?2, record = ?3"},
      {&RowWriter::step_,
       "INSERT INTO steps(run, step, record) VALUES(?1, ?2, ?3) "
       "ON CONFLICT(run, step) DO UPDATE SET record = ?3"},
      {&RowWriter::content_, "INSERT OR IGNORE INTO contents(hash, bytes) VALUES(?1, ?2)"},
      {&RowWriter::submission_,
       "INSERT INTO submissions(key, job_id) VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET job_id = ?2"},
      {&RowWriter::series_,
       "INSERT INTO series(run, record) VALUES(?1, ?2) ON CONFLICT(run) DO UPDATE SET record = ?2"},
      {&RowWriter::set_aside_, "INSERT INTO set_aside(kind, key, record) VALUES(?1, ?2, ?3)"},
  };
  RowWriter writer;
  writer.connection_ = &connection;
  for (const auto& [statement, sql] : statements) {
    auto prepared = connection.prepare(sql);
    if (!prepared) return failure(prepared.error());
    writer.*statement = std::move(*prepared);
  }
  return writer;
}

Status RowWriter::put(const JobRow& row) {
  const auto& record = row.record;
  job_.bind(1, run_key(record.job_id(), record.restarts()));
  record.array_job_id() != 0 ? job_.bind(2, static_cast<int64_t>(record.array_job_id())) : job_.bind_null(2);
  record.has_array_task_id() ? job_.bind(3, static_cast<int64_t>(record.array_task_id())) : job_.bind_null(3);
  job_.bind(4, static_cast<int64_t>(row.spec_id));
  job_.bind(5, static_cast<int64_t>(record.uid()));
  is_active(record) ? job_.bind(6, int64_t{1}) : job_.bind_null(6);
  job_.bind(7, outcome(record));
  job_.bind(8, record.submit_time());
  has_ended(record) ? job_.bind(9, record.end_time()) : job_.bind_null(9);
  bind_or_null(job_, 10, row.script);
  bind_or_null(job_, 11, row.environment);
  bind_or_null(job_, 12, row.owner);
  record.SerializeToString(&buffer_);
  job_.bind(13, buffer_);
  return job_.run();
}

Status RowWriter::put(const SpecRow& row) {
  spec_.bind(1, static_cast<int64_t>(row.spec_id));
  spec_.bind_text(2, row.spec.name());
  row.spec.SerializeToString(&buffer_);
  spec_.bind(3, buffer_);
  return spec_.run();
}

Status RowWriter::put(const model::StepRecord& step) {
  step_.bind(1, run_key(step.job_id(), step.restarts()));
  step_.bind(2, step_key(step));
  step.SerializeToString(&buffer_);
  step_.bind(3, buffer_);
  return step_.run();
}

Status RowWriter::put(const SeriesRow& row) {
  series_.bind(1, run_key(row.job_id, row.restarts));
  series_.bind(2, row.series);
  return series_.run();
}

Status RowWriter::put_content(const ContentHash& hash, const std::string& bytes) {
  content_.bind(1, hash);
  content_.bind(2, bytes);
  return content_.run();
}

Status RowWriter::put_submission(const std::string& key, uint32_t job_id) {
  submission_.bind(1, key);
  submission_.bind(2, static_cast<int64_t>(job_id));
  return submission_.run();
}

Result<Statement*> RowWriter::prepared(Statements& statements, Table table, const std::string& sql) {
  Statement& statement = statements.at(static_cast<size_t>(table));
  if (statement.handle() == nullptr) {
    auto made = connection_->prepare(sql);
    if (!made) return failure(made.error());
    statement = std::move(*made);
  }
  return &statement;
}

Status RowWriter::put(const Row& row) {
  const TableInfo& info = info_of(row.table);
  const std::string name = info.name, key = info.key;
  auto statement =
      row.record ? prepared(put_, row.table,
                            "INSERT INTO " + name + "(" + key + ", record) VALUES(?1, ?2) ON CONFLICT(" +
                                key + ") DO UPDATE SET record = ?2")
                 : prepared(remove_, row.table, "DELETE FROM " + name + " WHERE " + key + " = ?1");
  if (!statement) return failure(statement.error());
  bind_key(**statement, row.key);
  if (row.record) (*statement)->bind(2, *row.record);
  return (*statement)->run();
}

Status RowWriter::set_aside(const DamagedRow& row) {
  const TableInfo& info = info_of(row.table);
  const bool is_step = row.table == Table::kSteps;
  auto take =
      prepared(take_, row.table,
               "DELETE FROM " + std::string(info.name) + " WHERE " + info.key +
                   " = ?1 AND ifnull(CAST(record AS BLOB), x'') = ?2" + (is_step ? " AND step = ?3" : ""));
  if (!take) return failure(take.error());
  bind_key(**take, row.key);
  (*take)->bind(2, row.record);
  if (is_step) (*take)->bind(3, row.step);
  if (const Status taken = (*take)->run(); !taken) return taken;
  if (sqlite3_changes64(connection_->handle()) == 0) return {};  // it is another row by now
  const std::string key = key_in_words(row);
  set_aside_.bind_text(1, info.one_is);
  set_aside_.bind_text(2, key);
  set_aside_.bind(3, row.record);
  return set_aside_.run();
}

DamagedRow damaged_row(const JobRow& row) {
  return {.table = Table::kJobs,
          .key = run_key(row.record.job_id(), row.record.restarts()),
          .record = row.record.SerializeAsString()};
}

std::optional<JobRow> read_job(const Statement& row, std::vector<DamagedRow>& damaged) {
  const int64_t run = row.integer(0);
  JobRow job;
  if (!parse(row.bytes(5), job.record) || job.record.job_id() != run_job_id(run) ||
      job.record.restarts() != run_restarts(run)) {
    damaged.push_back({.table = Table::kJobs, .key = run, .record = std::string(row.bytes(5))});
    return std::nullopt;
  }
  job.spec_id = static_cast<uint32_t>(row.integer(1));
  job.script = row.bytes(2);
  job.environment = row.bytes(3);
  job.owner = row.bytes(4);
  return job;
}

std::optional<model::JobSpec> read_spec(const Statement& row, int column, uint32_t spec_id,
                                        std::vector<DamagedRow>& damaged) {
  model::JobSpec spec;
  if (parse(row.bytes(column), spec)) return spec;
  damaged.push_back(
      {.table = Table::kSpecs, .key = row_key(spec_id), .record = std::string(row.bytes(column))});
  return std::nullopt;
}

std::optional<model::StepRecord> read_step(const Statement& row, std::vector<DamagedRow>& damaged) {
  model::StepRecord step;
  if (parse(row.bytes(2), step) && run_key(step.job_id(), step.restarts()) == row.integer(0) &&
      step_key(step) == row.integer(1))
    return step;
  damaged.push_back({.table = Table::kSteps,
                     .key = row.integer(0),
                     .step = row.integer(1),
                     .record = std::string(row.bytes(2))});
  return std::nullopt;
}

}  // namespace minke::store
