#include "store/retention.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "store/schema.h"

namespace minke::store {
namespace {

// Bounds the time that a commit may wait for a slice.
constexpr int64_t kRunsPerSlice = 500;
constexpr int64_t kRowsPerSlice = 5000;
constexpr size_t kMarkBits = size_t{1} << 27;

}  // namespace

Result<Retention> Retention::prepare(Connection& connection) {
  const struct {
    Statement Retention::*statement;
    const char* sql;
  } all[] = {
      {&Retention::runs_,
       "SELECT run, spec_id FROM jobs WHERE end_time < ?1 AND active IS NULL "
       "AND run <> (SELECT max(run) FROM jobs) ORDER BY end_time LIMIT ?2"},
      {&Retention::drop_run_, "DELETE FROM jobs WHERE run = ?1"},
      {&Retention::drop_steps_, "DELETE FROM steps WHERE run = ?1"},
      {&Retention::drop_series_, "DELETE FROM series WHERE run = ?1"},
      {&Retention::run_between_, "SELECT 1 FROM jobs WHERE run BETWEEN ?1 AND ?2 LIMIT 1"},
      {&Retention::task_of_, "SELECT 1 FROM jobs WHERE array_job_id = ?1 LIMIT 1"},
      {&Retention::drop_spec_, "DELETE FROM specs WHERE spec_id = ?1"},
      {&Retention::references_,
       "SELECT run, script, environment FROM jobs WHERE run > ?1 ORDER BY run LIMIT ?2"},
      {&Retention::contents_, "SELECT rowid, hash FROM contents WHERE rowid > ?1 ORDER BY rowid LIMIT ?2"},
      {&Retention::drop_content_, "DELETE FROM contents WHERE rowid = ?1"},
      {&Retention::submissions_, "SELECT key, job_id FROM submissions WHERE key > ?1 ORDER BY key LIMIT ?2"},
      {&Retention::drop_submission_, "DELETE FROM submissions WHERE key = ?1"},
  };
  Retention retention;
  for (const auto& [statement, sql] : all) {
    auto prepared = connection.prepare(sql);
    if (!prepared) return failure(prepared.error());
    retention.*statement = std::move(*prepared);
  }
  return retention;
}

void Retention::begin(int64_t ended_before, Done done) {
  phase_ = Phase::kRuns;
  ended_before_ = ended_before;
  done_ = std::move(done);
  removed_ = 0;
}

Status Retention::advance() {
  switch (phase_) {
    case Phase::kRuns:
      return remove_runs();
    case Phase::kMark:
      return mark();
    case Phase::kContents:
      return remove_contents();
    case Phase::kSubmissions:
      return remove_submissions();
    case Phase::kIdle:
    case Phase::kDone:
      break;
  }
  return {};
}

void Retention::settled(const Status& outcome) {
  if (outcome && phase_ != Phase::kDone) return;
  phase_ = Phase::kIdle;
  in_use_ = {};
  if (const Done done = std::exchange(done_, {})) {
    outcome ? done(removed_) : done(failure(outcome.error()));
  }
}

size_t Retention::bit_of(std::string_view hash) {
  size_t number = 0;
  for (size_t i = 0; i < std::min<size_t>(hash.size(), 4); ++i)
    number = number << 8 | static_cast<unsigned char>(hash[i]);
  return number % kMarkBits;
}

void Retention::stored(const ContentHash& hash) {
  if (!in_use_.empty()) in_use_[bit_of(hash)] = true;
}

Result<bool> Retention::exists(Statement& statement) {
  auto row = statement.step();
  if (row && *row) statement.reset();
  return row;
}

Status Retention::remove_run(int64_t run) {
  for (Statement* drop : {&drop_run_, &drop_steps_, &drop_series_}) {
    drop->bind(1, run);
    if (auto done = drop->run(); !done) return done;
  }
  return {};
}

Status Retention::remove_spec_if_unused(uint32_t spec_id) {
  run_between_.bind(1, first_run(spec_id));
  run_between_.bind(2, last_run(spec_id));
  const auto run = exists(run_between_);
  if (!run) return failure(run.error());
  if (*run) return {};
  task_of_.bind(1, static_cast<int64_t>(spec_id));
  const auto task = exists(task_of_);
  if (!task) return failure(task.error());
  if (*task) return {};
  drop_spec_.bind(1, static_cast<int64_t>(spec_id));
  return drop_spec_.run();
}

Status Retention::remove_runs() {
  std::vector<int64_t> runs;
  std::vector<uint32_t> specs;
  runs_.bind(1, ended_before_);
  runs_.bind(2, kRunsPerSlice);
  while (true) {
    auto row = runs_.step();
    if (!row) return failure(row.error());
    if (!*row) break;
    runs.push_back(runs_.integer(0));
    specs.push_back(static_cast<uint32_t>(runs_.integer(1)));
  }
  if (runs.empty()) {
    phase_ = removed_ == 0 ? Phase::kDone : Phase::kMark;
    position_ = -1;
    if (phase_ == Phase::kMark) in_use_.assign(kMarkBits, false);
    return {};
  }
  for (const int64_t run : runs) {
    if (auto done = remove_run(run); !done) return done;
  }
  std::sort(specs.begin(), specs.end());
  specs.erase(std::unique(specs.begin(), specs.end()), specs.end());
  for (const uint32_t spec : specs) {
    if (auto done = remove_spec_if_unused(spec); !done) return done;
  }
  removed_ += runs.size();
  return {};
}

Status Retention::mark() {
  references_.bind(1, position_);
  references_.bind(2, kRowsPerSlice);
  int64_t rows = 0;
  while (true) {
    auto row = references_.step();
    if (!row) return failure(row.error());
    if (!*row) break;
    ++rows;
    position_ = references_.integer(0);
    for (const int column : {1, 2}) {
      if (!references_.is_null(column)) in_use_[bit_of(references_.bytes(column))] = true;
    }
  }
  if (rows == kRowsPerSlice) return {};
  phase_ = Phase::kContents;
  position_ = -1;
  return {};
}

Status Retention::remove_contents() {
  std::vector<int64_t> unused;
  contents_.bind(1, position_);
  contents_.bind(2, kRowsPerSlice);
  int64_t rows = 0;
  while (true) {
    auto row = contents_.step();
    if (!row) return failure(row.error());
    if (!*row) break;
    ++rows;
    position_ = contents_.integer(0);
    if (!in_use_[bit_of(contents_.bytes(1))]) unused.push_back(position_);
  }
  for (const int64_t content : unused) {
    drop_content_.bind(1, content);
    if (auto done = drop_content_.run(); !done) return done;
  }
  if (rows == kRowsPerSlice) return {};
  phase_ = Phase::kSubmissions;
  last_key_.clear();
  return {};
}

Status Retention::remove_submissions() {
  std::vector<std::string> gone;
  submissions_.bind(1, std::string_view(last_key_));
  submissions_.bind(2, kRowsPerSlice);
  int64_t rows = 0;
  while (true) {
    auto row = submissions_.step();
    if (!row) return failure(row.error());
    if (!*row) break;
    ++rows;
    last_key_ = submissions_.bytes(0);
    const auto job = static_cast<uint32_t>(submissions_.integer(1));
    run_between_.bind(1, first_run(job));
    run_between_.bind(2, last_run(job));
    auto known = exists(run_between_);
    if (known && !*known) {
      task_of_.bind(1, static_cast<int64_t>(job));
      known = exists(task_of_);
    }
    if (!known) {
      submissions_.reset();
      return failure(known.error());
    }
    if (!*known) gone.push_back(last_key_);
  }
  for (const std::string& key : gone) {
    drop_submission_.bind(1, std::string_view(key));
    if (auto done = drop_submission_.run(); !done) return done;
  }
  if (rows < kRowsPerSlice) phase_ = Phase::kDone;
  return {};
}

}  // namespace minke::store
