#include "store/schema.h"

#include <iterator>
#include <string>

#include "store/settings_migration.h"

namespace minke::store {
namespace {

struct Migration {
  const char* sql;
  Status (*then)(Connection& connection) = nullptr;
  const char* last = "";
};

const Migration kMigrations[] = {
    // 1
    {R"sql(
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
    )sql"},
    // 2
    {R"sql(
      DROP INDEX jobs_by_end;
      CREATE INDEX jobs_by_end ON jobs(end_time, submit_time) WHERE end_time IS NOT NULL;
      CREATE INDEX jobs_by_user ON jobs(uid, end_time, submit_time) WHERE end_time IS NOT NULL;
    )sql"},
    // 3
    {R"sql(
      CREATE TABLE series(run INTEGER PRIMARY KEY, record BLOB NOT NULL);
    )sql"},
    // 4. As short as possible: the whole schema must fit on the first page (schema.h).
    {R"sql(
      CREATE TABLE accounts(name TEXT PRIMARY KEY,record BLOB)WITHOUT ROWID;
      CREATE TABLE users(name TEXT PRIMARY KEY,record BLOB)WITHOUT ROWID;
      CREATE TABLE associations(id INTEGER PRIMARY KEY,record BLOB);
      CREATE TABLE qos(id INTEGER PRIMARY KEY,record BLOB);
      CREATE TABLE clusters(name TEXT PRIMARY KEY,record BLOB)WITHOUT ROWID;
      CREATE TABLE federations(name TEXT PRIMARY KEY,record BLOB)WITHOUT ROWID;
      CREATE TABLE resources(name TEXT PRIMARY KEY,record BLOB)WITHOUT ROWID;
      CREATE TABLE usage(id INTEGER PRIMARY KEY,record BLOB);
      CREATE TABLE qos_usage(id INTEGER PRIMARY KEY,record BLOB);
      CREATE TABLE usage_period(id INTEGER PRIMARY KEY,record BLOB);
      CREATE TABLE nodes(name TEXT PRIMARY KEY,record BLOB)WITHOUT ROWID;
      CREATE TABLE partitions(name TEXT PRIMARY KEY,record BLOB)WITHOUT ROWID;
      CREATE TABLE reservations(name TEXT PRIMARY KEY,record BLOB)WITHOUT ROWID;
      CREATE TABLE reserved_jobs(job_id INTEGER PRIMARY KEY,record BLOB);
      CREATE TABLE triggers(id INTEGER PRIMARY KEY,record BLOB);
      CREATE TABLE prologs(job_id INTEGER PRIMARY KEY,record BLOB);
      CREATE TABLE mail(id INTEGER PRIMARY KEY,record BLOB);
      CREATE TABLE quotas(path TEXT PRIMARY KEY,record BLOB)WITHOUT ROWID;
      CREATE TABLE suspended_jobs(job_id INTEGER PRIMARY KEY,record BLOB);
      CREATE TABLE machine(id INTEGER PRIMARY KEY,record BLOB);
      CREATE TABLE commit_probe(id INTEGER PRIMARY KEY,record BLOB);
      CREATE TABLE set_aside(id INTEGER PRIMARY KEY,kind TEXT,key TEXT,record BLOB,seen INTEGER DEFAULT 0);
    )sql",
     move_settings, "DROP TABLE settings;"},
    // 5
    {R"sql(
      CREATE TABLE software(id INTEGER PRIMARY KEY,record);
      CREATE TABLE done(key TEXT PRIMARY KEY,record)WITHOUT ROWID;
    )sql"},
    // 6. Shorter names make room on the first page.
    {R"sql(
      ALTER TABLE suspended_jobs RENAME TO held;
      ALTER TABLE reserved_jobs RENAME TO resv;
      ALTER TABLE usage_period RENAME TO since;
      DROP TABLE commit_probe;
      CREATE TABLE probe(id INTEGER PRIMARY KEY,record);
      CREATE TABLE cron(uid INTEGER PRIMARY KEY,record);
    )sql"},
    // 7. Shorter names make room on the first page.
    {R"sql(
      ALTER TABLE federations RENAME TO feds;
      ALTER TABLE reservations RENAME TO plan;
      ALTER TABLE partitions RENAME TO parts;
      ALTER TABLE associations RENAME TO assoc;
      ALTER TABLE resources RENAME TO lics;
      ALTER TABLE clusters RENAME TO clus;
      ALTER TABLE software RENAME TO soft;
      ALTER TABLE triggers RENAME TO trig;
      ALTER TABLE prologs RENAME TO pro;
      CREATE TABLE ev(id TEXT PRIMARY KEY,record)WITHOUT ROWID;
      CREATE TABLE tx(id INTEGER PRIMARY KEY,record);
    )sql"},
};
static_assert(std::size(kMigrations) == kSchema);

Status migrate_by_one(Connection& connection, const Migration& migration, int64_t to) {
  Status done = connection.execute("BEGIN IMMEDIATE; " + std::string(migration.sql));
  if (done && migration.then != nullptr) done = migration.then(connection);
  if (done) {
    done = connection.execute(std::string(migration.last) +
                              "PRAGMA application_id = " + std::to_string(kApplicationId) +
                              "; PRAGMA user_version = " + std::to_string(to) + "; COMMIT");
  }
  if (!done && connection.in_transaction()) (void)connection.execute("ROLLBACK");
  return done;
}

Status migrate(Connection& connection, int64_t schema) {
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
  for (int64_t next = *version; next < schema; ++next)
    if (const Status done = migrate_by_one(connection, kMigrations[next], next + 1); !done) return done;
  return {};
}

}  // namespace

Status prepare_database(Connection& connection, bool sync, int64_t schema) {
  // A first read distinguishes a file that is not a database from one that cannot be written.
  if (auto read = connection.integer("SELECT count(*) FROM sqlite_schema"); !read)
    return failure(read.error());
  if (sqlite3_db_readonly(connection.handle(), "main") == 1) return connection.error(SQLITE_READONLY);
  // secure_delete would overwrite freed bytes with zeros: whoever can read the file may see all of it anyway.
  auto set = connection.execute(std::string("PRAGMA journal_mode = WAL; PRAGMA synchronous = ") +
                                (sync ? "FULL" : "OFF") +
                                "; PRAGMA secure_delete = OFF; PRAGMA temp_store = MEMORY");
  if (!set) return set;
  return migrate(connection, schema);
}

}  // namespace minke::store
