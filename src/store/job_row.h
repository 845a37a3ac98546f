// What the store keeps of jobs, and what it is given and returns at once: a batch of changes, the state that
// a daemon begins with, and a job of the accounting. Values.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/step_record.pb.h"
#include "store/content_hash.h"
#include "store/loaded_rows.h"
#include "store/tables.h"

namespace minke::store {

struct JobRow {
  model::JobRecord record;  // without its spec, which is stored once per submission: see SpecRow
  uint32_t spec_id = 0;     // job id of the submission (of the array, for its tasks); one of the row's ids
  ContentHash script;       // empty for interactive allocations
  ContentHash environment;
  std::string owner;  // opaque to the store: e.g. which process owns an interactive allocation
};

// For a row that is useless although its record can be read.
DamagedRow damaged_row(const JobRow& row);

struct SpecRow {
  uint32_t spec_id = 0;
  model::JobSpec spec;
};

// The measurements of one run of a job (model/measurement.proto).
struct SeriesRow {
  uint32_t job_id = 0;
  uint32_t restarts = 0;
  std::string series;  // serialised
};

// One atomic change. Everything is an upsert; only rows of records are deleted here: see forget().
struct Batch {
  std::vector<JobRow> jobs = {};  // key: (job_id, restarts)
  std::vector<SpecRow> specs = {};
  std::vector<model::StepRecord> steps = {};                       // key: (job_id, restarts, kind, step_id)
  std::vector<std::pair<ContentHash, std::string>> contents = {};  // already stored ones are skipped
  std::vector<std::pair<std::string, uint32_t>> submissions = {};  // submission key (16 bytes) -> job id
  std::vector<SeriesRow> series = {};                              // key: (job_id, restarts)
  std::vector<Row> rows = {};                                      // of the tables of records
  // Rows that leave their tables, unless they changed since they were read, and are kept for a later repair:
  // see Store::set_aside(). Done before all else, so that another row may take the place of one.
  std::vector<DamagedRow> set_aside = {};
  bool empty() const;
};

struct Loaded {
  std::vector<JobRow> active_jobs;  // pending, running, suspended or completing; ordered by job id
  std::vector<SpecRow> specs;       // those of active_jobs; ordered by spec id
  std::vector<model::StepRecord>
      active_steps;             // all steps of active_jobs, also those that have ended; by job id
  uint32_t highest_job_id = 0;  // of all jobs ever stored
  LoadedRows rows;              // rows.damaged() has whatever of all this cannot be read
};

struct AccountedJob {
  JobRow job;
  model::JobSpec spec;
  std::vector<model::StepRecord> steps;  // ordered by (kind, step_id)
};

}  // namespace minke::store
