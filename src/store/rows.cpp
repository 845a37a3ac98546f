#include "store/rows.h"

#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "model/step_record.pb.h"

namespace minke::store {
namespace {

void bind_or_null(Statement& statement, int index, const std::string& bytes) {
  if (bytes.empty()) {
    statement.bind_null(index);
  } else {
    statement.bind(index, bytes);
  }
}

// 0, 1 or 2: see schema.h.
int64_t outcome(const model::JobRecord& record) {
  if (!has_ended(record)) return 0;
  return record.state() == model::JOB_COMPLETE && record.exit_code() == 0 ? 2 : 1;
}

template <typename Message>
Result<Message> parse(std::string_view bytes, const std::string& what) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return failure("the stored record of " + what + " is damaged: restore a copy of the database");
  }
  return message;
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
      {&RowWriter::setting_,
       "INSERT INTO settings(name, value) VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET value = ?2"},
      {&RowWriter::series_,
       "INSERT INTO series(run, record) VALUES(?1, ?2) ON CONFLICT(run) DO UPDATE SET record = ?2"},
      {&RowWriter::no_setting_, "DELETE FROM settings WHERE name = ?1"},
  };
  RowWriter writer;
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

Status RowWriter::put_setting(const std::string& name, const std::string& value) {
  if (value.empty()) {
    no_setting_.bind_text(1, name);
    return no_setting_.run();
  }
  setting_.bind_text(1, name);
  setting_.bind(2, value);
  return setting_.run();
}

Result<JobRow> read_job(const Statement& row) {
  const uint32_t job_id = run_job_id(row.integer(0));
  auto record = parse<model::JobRecord>(row.bytes(5), "job " + std::to_string(job_id));
  if (!record) return failure(record.error());
  JobRow job;
  job.record = std::move(*record);
  job.spec_id = static_cast<uint32_t>(row.integer(1));
  job.script = row.bytes(2);
  job.environment = row.bytes(3);
  job.owner = row.bytes(4);
  return job;
}

Result<model::JobSpec> read_spec(const Statement& row, int column, uint32_t spec_id) {
  return parse<model::JobSpec>(row.bytes(column), "submission " + std::to_string(spec_id));
}

Result<model::StepRecord> read_step(const Statement& row, int column) {
  return parse<model::StepRecord>(row.bytes(column), "a job step");
}

}  // namespace minke::store
