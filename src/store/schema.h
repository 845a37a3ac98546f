// The database's tables, and how an older database becomes a current one.
//
// Schema 7. PRAGMA application_id is "Mnke", PRAGMA user_version the schema's number. A run is one start of a
// job: a requeued job has several. Records are protobuf messages (model/job_record.proto), which may gain
// fields without a new schema; columns repeat only what queries select by.
//
//   jobs         one row a run
//     run          job_id << 31 | restarts: the order of job ids, and a key SQLite appends to fastest
//     array_job_id NULL: not of an array
//     array_task_id NULL: not of an array, or the record of pending tasks
//     spec_id      row of specs
//     uid
//     active       1: pending, running, suspended or completing; NULL otherwise
//     outcome      0: not ended, 1: ended, 2: ended as JOB_COMPLETE with exit code 0
//     submit_time  s since the epoch
//     end_time     s since the epoch; NULL until it has ended (the record's is the limit until then)
//     script, environment  hashes in contents, or NULL
//     owner        opaque; NULL: none
//     record       JobRecord without its spec
//   specs        spec_id, name (of the job), record: JobSpec
//   steps        run, step: kind << 32 | step_id, record: StepRecord
//   contents     hash: SHA-256, bytes
//   submissions  key: chosen by the client, job_id
//   series       run, record: Series (model/measurement.proto)
//
// Each kind of other lasting state (nodes, reservations, triggers, …) is a table of a key and a record,
// listed in tables.h. Rows of all these that cannot be read are moved to
//
//   set_aside    id, kind and key in words ("account", "lab"), record: as found, seen: 1 once it was repaired
//
// Queries find ended runs by the time of their end, with the time of submission beside it, so that an index
// alone answers a window of the past; another index has the same by user.
//
// The schema fits on the first page, without which nothing can be read: any other page may be damaged, and
// the rest can be saved (repair.h). Little of the page is left, so names of new tables are short. In a large
// database each table takes two bytes more than in a new one.
//
// To look at a database by hand:
//   sqlite3 -readonly FILE 'SELECT run >> 31 AS job_id, outcome, datetime(end_time, "unixepoch") FROM jobs'
//
// To change the schema: append a step to kMigrations (schema.cpp) that turns the schema before it into the
// new one, and describe the result here. Never edit a step that was released. A database is migrated when it
// is opened, each step in a transaction of its own that also sets user_version. A newer database is refused.
// tests/upgrade keeps a database of each schema: add one of the new schema there.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/sqlite.h"

namespace minke::store {

inline constexpr int64_t kSchema = 7;
inline constexpr int64_t kFirstOfRecords = 4;  // with a table for each kind of state, and set_aside
inline constexpr int kRestartsBits = 31;

// The key of a job's run. `restarts` is below 2^31.
inline int64_t run_key(uint32_t job_id, uint32_t restarts) {
  MINKE_CHECK(restarts < (1U << kRestartsBits));
  return static_cast<int64_t>(job_id) << kRestartsBits | restarts;
}
inline uint32_t run_job_id(int64_t run) {
  return static_cast<uint32_t>(run >> kRestartsBits);
}
inline uint32_t run_restarts(int64_t run) {
  return static_cast<uint32_t>(run & ((1LL << kRestartsBits) - 1));
}
inline int64_t first_run(uint32_t job_id) {
  return run_key(job_id, 0);
}
inline int64_t last_run(uint32_t job_id) {
  return first_run(job_id) | ((1LL << kRestartsBits) - 1);
}

inline constexpr int64_t kApplicationId = 0x4d6e6b65;  // "Mnke"

// Sets up the connection that writes: WAL, the current schema (or for a new database an earlier one). Fails
// on a file that is not our database, has a newer schema, or is damaged.
Status prepare_database(Connection& connection, bool sync, int64_t schema = kSchema);

}  // namespace minke::store
