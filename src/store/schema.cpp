#include "store/schema.h"

#include <array>

namespace minke::store {
namespace {

constexpr int64_t kApplicationId = 0x4d6e6b65;  // "Mnke"

constexpr std::array kMigrations = {
    // 1
    R"sql(
      CREATE TABLE jobs(
        run INTEGER PRIMARY KEY,
        array_job_id INTEGER,
        array_task_id INTEGER,
        spec_id INTEGER NOT NULL,
        uid INTEGER NOT NULL,
        active INTEGER,
        outcome INTEGER NOT NULL,
        submit_time INTEGER NOT NULL,
        end_time INTEGER,
        script BLOB,
        environment BLOB,
        owner BLOB,
        record BLOB NOT NULL
      );
      CREATE INDEX jobs_active ON jobs(active) WHERE active IS NOT NULL;
      CREATE INDEX jobs_by_array ON jobs(array_job_id, array_task_id, outcome) WHERE array_job_id IS NOT NULL;
      CREATE INDEX jobs_by_end ON jobs(end_time) WHERE end_time IS NOT NULL;
      CREATE TABLE specs(spec_id INTEGER PRIMARY KEY, name TEXT NOT NULL, record BLOB NOT NULL);
      CREATE INDEX specs_by_name ON specs(name);
      CREATE TABLE steps(run INTEGER, step INTEGER, record BLOB NOT NULL, PRIMARY KEY(run, step)) WITHOUT ROWID;
      CREATE TABLE contents(hash BLOB NOT NULL UNIQUE, bytes BLOB NOT NULL);
      CREATE TABLE submissions(key BLOB PRIMARY KEY, job_id INTEGER NOT NULL) WITHOUT ROWID;
      CREATE TABLE settings(name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    )sql",
    // 2
    R"sql(
      DROP INDEX jobs_by_end;
      CREATE INDEX jobs_by_end ON jobs(end_time, submit_time) WHERE end_time IS NOT NULL;
      CREATE INDEX jobs_by_user ON jobs(uid, end_time, submit_time) WHERE end_time IS NOT NULL;
    )sql",
    // 3
    R"sql(
      CREATE TABLE series(run INTEGER PRIMARY KEY, record BLOB NOT NULL);
    )sql",
};
constexpr int64_t kSchema = kMigrations.size();

Status migrate(Connection& connection) {
  auto version = connection.integer("PRAGMA user_version");
  if (!version) return failure(version.error());
  auto application = connection.integer("PRAGMA application_id");
  if (!application) return failure(application.error());
  auto tables = connection.integer("SELECT count(*) FROM sqlite_schema");
  if (!tables) return failure(tables.error());

  const bool is_new = *application == 0 && *version == 0 && *tables == 0;
  if (!is_new && *application != kApplicationId) {
    return failure(connection.path() +
                   " is a database of another program: move it away or name another place");
  }
  if (*version > kSchema) {
    return failure("the database " + connection.path() + " was written by a newer version (schema " +
                   std::to_string(*version) + ", this program knows " + std::to_string(kSchema) +
                   "): run that version or a newer one");
  }
  for (int64_t next = *version; next < kSchema; ++next) {
    auto done =
        connection.execute("BEGIN IMMEDIATE; " + std::string(kMigrations.at(static_cast<size_t>(next))) +
                           "PRAGMA application_id = " + std::to_string(kApplicationId) +
                           "; PRAGMA user_version = " + std::to_string(next + 1) + "; COMMIT");
    if (!done) return done;
  }
  return {};
}

}  // namespace

Status prepare_database(Connection& connection, bool sync) {
  // Reading anything first tells a file that is no database from one that can't be written.
  if (auto read = connection.integer("SELECT count(*) FROM sqlite_schema"); !read)
    return failure(read.error());
  if (sqlite3_db_readonly(connection.handle(), "main") == 1) return connection.error(SQLITE_READONLY);
  // secure_delete would write freed bytes over with zeros: nothing here is secret from who can read the file.
  auto set = connection.execute(std::string("PRAGMA journal_mode = WAL; PRAGMA synchronous = ") +
                                (sync ? "FULL" : "OFF") +
                                "; PRAGMA secure_delete = OFF; PRAGMA temp_store = MEMORY");
  if (!set) return set;
  return migrate(connection);
}

}  // namespace minke::store
