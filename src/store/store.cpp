// Opening the database, and what its owner reads directly; commits are writer.h's, reports reader.h's.
#include "store/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "model/measurement.pb.h"
#include "os/fd.h"
#include "os/log.h"
#include "store/emptied.h"
#include "store/job_row.h"
#include "store/reader.h"
#include "store/roots.h"
#include "store/rows.h"
#include "store/schema.h"
#include "store/writer.h"

namespace minke::store {
namespace {

constexpr mode_t kOwnerOnly = 0600;

class SqliteStore final : public Store {
 public:
  static Result<std::unique_ptr<Store>> open(const std::string& path, const Options& options);

  Result<Loaded> load() override;
  void commit(Batch batch, std::function<void(Status)> done) override {
    writer_->commit(std::move(batch), std::move(done));
  }
  void forget(int64_t ended_before, std::function<void(Result<uint64_t>)> done) override {
    writer_->forget(ended_before, std::move(done));
  }
  void query(AccountingQuery query, OnChunk chunk) override {
    reader_->query(std::move(query), std::move(chunk));
  }
  std::unique_ptr<Reading> read(AccountingQuery query, OnChunk chunk) override {
    return reader_->read(std::move(query), std::move(chunk));
  }
  Result<std::optional<std::string>> content(const ContentHash& hash) override;
  Result<std::optional<uint32_t>> submission(const std::string& key) override;
  Result<std::optional<JobRow>> job(uint32_t job_id) override;
  Result<std::optional<std::string>> series(uint32_t job_id, uint32_t restarts) override;
  Result<std::vector<std::string>> set_aside() override;
  Result<ArrayOutcome> array_outcome(uint32_t array_job_id) override;
  Result<std::optional<JobRow>> array_task(uint32_t array_job_id, uint32_t index) override;

 private:
  Status prepare_lookups();
  Status load_jobs(Loaded& loaded, std::vector<DamagedRow>& damaged);
  Status load_records(LoadedRows& rows);
  // Sets aside rows that turn out to be damaged while the cluster runs. Any thread.
  void set_aside(std::vector<DamagedRow> rows);
  Result<std::optional<JobRow>> only_job(Statement& statement);
  Status subtract_requeued(const std::vector<int64_t>& later_runs, uint32_t array_job_id,
                           ArrayOutcome& outcome);

  // Destroyed from the last to the first: the writer, which folds the log into the database, before the lock.
  os::UniqueFd lock_;
  std::unique_ptr<Writer> writer_;
  std::unique_ptr<Connection> lookups_;
  Statement content_, submission_, job_, array_, run_outcome_, task_, series_;
  std::unique_ptr<Reader> reader_;
};

// Keeps a second daemon away. SQLite's exclusive mode would keep our readers away too. The lock is not on the
// database itself: closing a descriptor of it would drop the locks that SQLite holds on it.
Result<os::UniqueFd> lock_database(const std::string& path) {
  const std::string lock_path = path + "-lock";
  os::UniqueFd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kOwnerOnly));
  if (!lock) return failure_from_errno("cannot open " + lock_path, errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return failure("the database " + path + " is in use by another process (it holds " + lock_path + ")",
                     EBUSY);
    }
    return failure_from_errno("cannot lock " + lock_path, errno);
  }
  return lock;
}

// SQLite would create the file with the rights that the umask leaves; its log gets those of the database.
Status create_file(const std::string& path) {
  os::UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
  if (!file && errno != EEXIST) return failure_from_errno("cannot create the database " + path, errno);
  return {};
}

// Without it, a crash right after the first commit could lose the name of the file.
Status sync_directory(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  os::UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0)
    return failure_from_errno("cannot sync the directory " + directory, errno);
  return {};
}

// A program that died, or whose disk failed, may have left a commit in the log that it never synced. From
// here on it is read like any other, and a client that asks again is told that it is done. So the log is
// synced before anybody is answered.
Status sync_log(Connection& connection) {
  // The log is open once something has been read.
  if (const auto read = connection.integer("SELECT count(*) FROM sqlite_schema"); !read)
    return failure(read.error());
  sqlite3_file* log = nullptr;
  int code = sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (code == SQLITE_OK && log != nullptr && log->pMethods != nullptr)
    code = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
  return code == SQLITE_OK ? Status() : connection.error(code);
}

Result<std::unique_ptr<Store>> SqliteStore::open(const std::string& path, const Options& options) {
  // Once in a program, before SQLite is used: it counts memory under a lock that all threads would share.
  static std::once_flag configured;
  std::call_once(configured, [] { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); });

  auto store = std::make_unique<SqliteStore>();
  auto lock = lock_database(path);
  if (!lock) return failure(lock.error());
  store->lock_ = std::move(*lock);
  // Another file layer decides itself what a path is.
  if (options.vfs.empty()) {
    if (auto there = check_not_emptied(path, options.signs); !there) return failure(there.error());
    if (auto created = create_file(path); !created) return failure(created.error());
    if (auto synced = sync_directory(path); !synced) return failure(synced.error());
  }

  auto connection = Connection::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, options.vfs);
  if (!connection) return failure(connection.error());
  if (auto prepared = prepare_database(**connection, options.sync); !prepared)
    return failure(prepared.error());
  if (auto synced = sync_log(**connection); !synced) return failure(synced.error());
  if (options.vfs.empty()) {
    if (auto noted = note_roots(**connection); !noted)
      os::log_warning("the database could not be saved if its first page were damaged: " +
                      noted.error().message);
  }
  auto writer = Writer::start(std::move(*connection), options.checkpoint_pages);
  if (!writer) return failure(writer.error());
  store->writer_ = std::move(*writer);

  auto lookups = Connection::open(path, SQLITE_OPEN_READONLY, options.vfs);
  if (!lookups) return failure(lookups.error());
  store->lookups_ = std::move(*lookups);
  if (auto prepared = store->prepare_lookups(); !prepared) return failure(prepared.error());

  connection = Connection::open(path, SQLITE_OPEN_READONLY, options.vfs);
  if (!connection) return failure(connection.error());
  auto reader = Reader::start(std::move(*connection), [raw = store.get()](std::vector<DamagedRow> rows) {
    raw->set_aside(std::move(rows));
  });
  if (!reader) return failure(reader.error());
  store->reader_ = std::move(*reader);
  return store;
}

Status SqliteStore::prepare_lookups() {
  const struct {
    Statement* statement;
    std::string sql;
  } all[] = {
      {&content_, "SELECT bytes FROM contents WHERE hash = ?1"},
      {&submission_, "SELECT job_id FROM submissions WHERE key = ?1"},
      {&job_, std::string("SELECT ") + kJobColumns +
                  " FROM jobs WHERE run BETWEEN ?1 AND ?2 ORDER BY run DESC LIMIT 1"},
      {&array_, "SELECT run, outcome FROM jobs WHERE array_job_id = ?1"},
      {&task_, std::string("SELECT ") + kJobColumns +
                   " FROM jobs WHERE array_job_id = ?1 AND array_task_id = ?2 ORDER BY run DESC LIMIT 1"},
      {&series_, "SELECT record FROM series WHERE run = ?1"},
      {&run_outcome_, "SELECT outcome FROM jobs WHERE run = ?1 AND array_job_id = ?2"},
  };
  if (auto set = lookups_->execute("PRAGMA cache_size = -256"); !set) return set;
  for (const auto& [statement, sql] : all) {
    auto prepared = lookups_->prepare(sql);
    if (!prepared) return failure(prepared.error());
    *statement = std::move(*prepared);
  }
  return {};
}

// Calls `use(statement)` for each row of `sql`.
template <typename Use>
Status for_each_row(Connection& connection, std::string_view sql, Use use) {
  auto statement = connection.prepare(sql);
  if (!statement) return failure(statement.error());
  while (true) {
    auto row = statement->step();
    if (!row) return failure(row.error());
    if (!*row) return {};
    use(*statement);
  }
}

Status SqliteStore::load_jobs(Loaded& loaded, std::vector<DamagedRow>& damaged) {
  Status read = for_each_row(
      *lookups_, std::string("SELECT ") + kJobColumns + " FROM jobs WHERE active = 1 ORDER BY run",
      [&](const Statement& row) {
        if (auto job = read_job(row, damaged)) loaded.active_jobs.push_back(std::move(*job));
      });
  if (!read) return read;
  read = for_each_row(
      *lookups_,
      "SELECT spec_id, record FROM specs WHERE spec_id IN (SELECT spec_id FROM jobs WHERE active = 1) "
      "ORDER BY spec_id",
      [&](const Statement& row) {
        const auto spec_id = static_cast<uint32_t>(row.integer(0));
        if (auto spec = read_spec(row, 1, spec_id, damaged))
          loaded.specs.push_back({spec_id, std::move(*spec)});
      });
  if (!read) return read;
  return for_each_row(*lookups_,
                      std::string("SELECT ") + kStepColumns +
                          " FROM jobs CROSS JOIN steps ON steps.run = jobs.run "
                          "WHERE jobs.active = 1 ORDER BY jobs.run, steps.step",
                      [&](const Statement& row) {
                        if (auto step = read_step(row, damaged))
                          loaded.active_steps.push_back(std::move(*step));
                      });
}

Status SqliteStore::load_records(LoadedRows& rows) {
  for (auto at = static_cast<size_t>(kFirstRecordTable); at < kTableCount; ++at) {
    const auto table = static_cast<Table>(at);
    const TableInfo& info = info_of(table);
    const std::string key = info.key;
    const Status read = for_each_row(
        *lookups_, "SELECT " + key + ", record FROM " + info.name + " ORDER BY " + key,
        [&](const Statement& row) {
          rows.add(table, info.number_keys ? RowKey(row.integer(0)) : RowKey(std::string(row.bytes(0))),
                   std::string(row.bytes(1)));
        });
    if (!read) return read;
  }
  return {};
}

Result<Loaded> SqliteStore::load() {
  Loaded loaded;
  std::vector<DamagedRow> damaged;
  if (const Status read = load_jobs(loaded, damaged); !read) return failure(read.error());
  for (DamagedRow& row : damaged) loaded.rows.reject(std::move(row));
  if (const Status read = load_records(loaded.rows); !read) return failure(read.error());
  // The number of a job that was set aside is not used again.
  auto highest = lookups_->integer(
      "SELECT max(ifnull((SELECT max(run) FROM jobs), 0) >> 31, "
      "ifnull((SELECT max(CAST(key AS INTEGER)) FROM set_aside WHERE kind = 'job'), 0))");
  if (!highest) return failure(highest.error());
  loaded.highest_job_id = static_cast<uint32_t>(*highest);
  lookups_->release_memory();
  return loaded;
}

Result<std::vector<std::string>> SqliteStore::set_aside() {
  std::vector<std::string> names;
  const Status read =
      for_each_row(*lookups_, "SELECT kind || ' ' || key FROM set_aside WHERE seen = 0 ORDER BY id",
                   [&](const Statement& row) { names.emplace_back(row.bytes(0)); });
  if (!read) return failure(read.error());
  return names;
}

void SqliteStore::set_aside(std::vector<DamagedRow> rows) {
  for (const DamagedRow& row : rows)
    os::log_error("damaged in the database, and set aside: " + in_words(row));
  writer_->commit({.set_aside = std::move(rows)}, nullptr);
}

Result<std::optional<std::string>> SqliteStore::content(const ContentHash& hash) {
  content_.bind(1, hash);
  auto row = content_.step();
  if (!row) return failure(row.error());
  if (!*row) return std::nullopt;
  std::string bytes(content_.bytes(0));
  content_.reset();
  return bytes;
}

Result<std::optional<std::string>> SqliteStore::series(uint32_t job_id, uint32_t restarts) {
  series_.bind(1, run_key(job_id, restarts));
  auto row = series_.step();
  if (!row) return failure(row.error());
  if (!*row) return std::nullopt;
  std::string bytes(series_.bytes(0));
  series_.reset();
  if (model::Series().ParseFromString(bytes)) return bytes;
  set_aside({{.table = Table::kSeries, .key = run_key(job_id, restarts), .record = std::move(bytes)}});
  return std::nullopt;
}

Result<std::optional<uint32_t>> SqliteStore::submission(const std::string& key) {
  submission_.bind(1, key);
  auto row = submission_.step();
  if (!row) return failure(row.error());
  if (!*row) return std::nullopt;
  const auto job_id = static_cast<uint32_t>(submission_.integer(0));
  submission_.reset();
  return job_id;
}

Result<std::optional<JobRow>> SqliteStore::only_job(Statement& statement) {
  auto row = statement.step();
  if (!row) return failure(row.error());
  if (!*row) return std::nullopt;
  std::vector<DamagedRow> damaged;
  auto job = read_job(statement, damaged);
  statement.reset();
  if (!damaged.empty()) set_aside(std::move(damaged));
  return job;
}

Result<std::optional<JobRow>> SqliteStore::job(uint32_t job_id) {
  job_.bind(1, first_run(job_id));
  job_.bind(2, last_run(job_id));
  return only_job(job_);
}

Result<std::optional<JobRow>> SqliteStore::array_task(uint32_t array_job_id, uint32_t index) {
  task_.bind(1, static_cast<int64_t>(array_job_id));
  task_.bind(2, static_cast<int64_t>(index));
  return only_job(task_);
}

Result<Store::ArrayOutcome> SqliteStore::array_outcome(uint32_t array_job_id) {
  // The index alone answers this. Runs that a requeue has superseded are counted with it, then subtracted.
  ArrayOutcome outcome;
  std::vector<int64_t> later_runs;
  array_.bind(1, static_cast<int64_t>(array_job_id));
  while (true) {
    auto row = array_.step();
    if (!row) return failure(row.error());
    if (!*row) break;
    if (run_restarts(array_.integer(0)) > 0) later_runs.push_back(array_.integer(0));
    outcome.ended += array_.integer(1) >= 1 ? 1 : 0;
    outcome.succeeded += array_.integer(1) == 2 ? 1 : 0;
  }
  if (auto done = subtract_requeued(later_runs, array_job_id, outcome); !done) return failure(done.error());
  return outcome;
}

Status SqliteStore::subtract_requeued(const std::vector<int64_t>& later_runs, uint32_t array_job_id,
                                      ArrayOutcome& outcome) {
  for (int64_t run : later_runs) {
    run_outcome_.bind(1, run - 1);
    run_outcome_.bind(2, static_cast<int64_t>(array_job_id));
    auto row = run_outcome_.step();
    if (!row) return failure(row.error());
    if (!*row) continue;
    outcome.ended -= run_outcome_.integer(0) >= 1 ? 1 : 0;
    outcome.succeeded -= run_outcome_.integer(0) == 2 ? 1 : 0;
    run_outcome_.reset();
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const std::string& path, const Options& options) {
  return SqliteStore::open(path, options);
}

}  // namespace minke::store
