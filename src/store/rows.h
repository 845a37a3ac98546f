// How the tables of schema.h hold the rows of store.h: writes and reads each kind.
//
// Used by the thread that owns the connection.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "store/job_row.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/store.h"

namespace minke::model {
class JobRecord;
class JobSpec;
class StepRecord;
}  // namespace minke::model

namespace minke::store {

// Whether it is pending, running, suspended, or has ended with processes still being cleared away.
bool is_active(const model::JobRecord& record);
bool has_ended(const model::JobRecord& record);
int64_t step_key(const model::StepRecord& step);

// The statements that write, kept prepared. The record buffers are reused.
class RowWriter {
 public:
  static Result<RowWriter> prepare(Connection& connection);

  Status put(const JobRow& row);  // its record contains no spec
  Status put(const SpecRow& row);
  Status put(const model::StepRecord& step);
  Status put(const SeriesRow& row);
  Status put_content(const ContentHash& hash, const std::string& bytes);
  Status put_submission(const std::string& key, uint32_t job_id);
  Status put(const Row& row);  // or removes it
  Status set_aside(const DamagedRow& row);

 private:
  using Statements = std::array<Statement, kTableCount>;  // each is prepared when it is first needed
  Result<Statement*> prepared(Statements& statements, Table table, const std::string& sql);

  Connection* connection_ = nullptr;
  Statement job_, spec_, step_, content_, submission_, series_, set_aside_;
  Statements put_, remove_, take_;
  std::string buffer_;
};

// The columns that read_job needs first in a row, in its order.
inline constexpr const char* kJobColumns = "run, spec_id, script, environment, owner, record";
inline constexpr int kJobColumnCount = 6;

// The columns that read_step needs first in a row, in its order.
inline constexpr const char* kStepColumns = "steps.run, steps.step, steps.record";

// Returns nothing if a row is damaged, and adds it to `damaged`.
std::optional<JobRow> read_job(const Statement& row, std::vector<DamagedRow>& damaged);
std::optional<model::JobSpec> read_spec(const Statement& row, int column, uint32_t spec_id,
                                        std::vector<DamagedRow>& damaged);
std::optional<model::StepRecord> read_step(const Statement& row, std::vector<DamagedRow>& damaged);

}  // namespace minke::store
