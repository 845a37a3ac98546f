#include "store/repair.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iterator>
#include <limits>
#include <memory>

#include "model/lasting_state.pb.h"
#include "os/fd.h"
#include "store/emptied.h"
#include "store/rescue.h"
#include "store/roots.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/tables.h"

namespace minke::store {
namespace {

constexpr mode_t kOwnerOnly = 0600;

Result<os::UniqueFd> make_file(const std::string& path) {
  os::UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
  if (!file) return failure_from_errno(path, errno);
  return file;
}

Status sync_with_directory(const std::string& path) {
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::fsync(file.get()) != 0) return failure_from_errno(path, errno);
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const os::UniqueFd parent(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent || ::fsync(parent.get()) != 0) return failure_from_errno(directory, errno);
  return {};
}

// ---- copying what can be read -------------------------------------------------------------------------

struct Copied {
  std::string name;
  std::string columns;
  std::string key;   // orders the rows, which are read one after the other
  bool number_keys;  // damaged places are skipped; else rows behind one are read from the end
  int count;         // of columns
};

const Copied kTables[] = {
    {"jobs",
     "run, array_job_id, array_task_id, spec_id, uid, active, outcome, submit_time, end_time, script, "
     "environment, owner, record",
     "run", true, 13},
    {"specs", "spec_id, name, record", "spec_id", true, 3},
    {"steps", "run, step, record", "run, step", false, 3},
    {"contents", "hash, bytes", "rowid", true, 2},
    {"submissions", "key, job_id", "key", false, 2},
    {"settings", "name, value", "name", false, 2},  // of earlier schemas
    {"series", "run, record", "run", true, 2},
    {"set_aside", "id, kind, key, record, seen", "id", true, 5},
    // Until schema 6.
    {"suspended_jobs", "job_id, record", "job_id", true, 2},
    {"reserved_jobs", "job_id, record", "job_id", true, 2},
    {"usage_period", "id, record", "id", true, 2},
    // Until schema 7.
    {"associations", "id, record", "id", true, 2},
    {"federations", "name, record", "name", false, 2},
    {"resources", "name, record", "name", false, 2},
    {"partitions", "name, record", "name", false, 2},
    {"reservations", "name, record", "name", false, 2},
    {"clusters", "name, record", "name", false, 2},
    {"software", "id, record", "id", true, 2},
    {"triggers", "id, record", "id", true, 2},
    {"prologs", "job_id, record", "job_id", true, 2},
};

// Returns those that a database of this schema has, and its tables of records.
std::vector<Copied> copied_tables(Connection& database) {
  std::vector<Copied> tables(std::begin(kTables), std::end(kTables));
  for (auto at = static_cast<size_t>(kFirstRecordTable); at < kTableCount; ++at) {
    const TableInfo& info = info_of(static_cast<Table>(at));
    tables.push_back({info.name, std::string(info.key) + ", record", info.key, info.number_keys, 2});
  }
  std::erase_if(tables, [&](const Copied& table) {
    return !database.prepare("SELECT 1 FROM " + table.name).has_value();
  });
  return tables;
}

class Copier {
 public:
  Copier(Connection& from, Connection& to, Repair& result) : from_(from), to_(to), result_(result) {
    struct stat status {};
    if (::stat(from.path().c_str(), &status) == 0) most_rows_ = static_cast<uint64_t>(status.st_size);
  }

  Status copy(const Copied& table);

 private:
  // Returns true at the end, false at an unreadable place. `last_key_` is that of the last row copied.
  Result<bool> copy_rows(const Copied& table, const std::string& sql, int64_t from_key);
  Status put(const Statement& row, int count);
  // Returns the next key at or after `key` that can be read; nothing if there is none.
  Result<bool> find_readable(const Copied& table, int64_t& key);

  Connection& from_;
  Connection& to_;
  Repair& result_;
  Statement insert_;
  int64_t last_key_ = 0;
  uint64_t most_rows_ = 0;  // of a sound table: each row takes a byte at least
};

Status Copier::put(const Statement& row, int count) {
  for (int i = 0; i < count; ++i)
    sqlite3_bind_value(insert_.handle(), i + 1, sqlite3_column_value(row.handle(), i));
  if (Status done = insert_.run(); !done) return done;
  result_.rows += static_cast<uint64_t>(sqlite3_changes64(to_.handle()));
  return {};
}

Result<bool> Copier::copy_rows(const Copied& table, const std::string& sql, int64_t from_key) {
  auto rows = from_.prepare(sql);
  if (!rows) return false;  // its root cannot be read
  if (table.number_keys) rows->bind(1, from_key);
  // Damaged pages can lead in a circle: keys descend then, or there are more rows than bytes.
  for (uint64_t left = most_rows_; left > 0; --left) {
    auto row = rows->step();
    if (!row) return false;
    if (!*row) return true;
    if (table.number_keys) {
      const int64_t key = rows->integer(table.count);
      if (key <= last_key_) return false;
      last_key_ = key;
    }
    if (const Status copied = put(*rows, table.count); !copied) return failure(copied.error());
  }
  return false;
}

Result<bool> Copier::find_readable(const Copied& table, int64_t& key) {
  auto look = from_.prepare("SELECT " + table.columns + " FROM " + table.name + " NOT INDEXED WHERE " +
                            table.key + " >= ?1 ORDER BY " + table.key + " LIMIT 1");
  if (!look) return false;
  const auto readable = [&](int64_t from) {
    look->bind(1, from);
    auto row = look->step();
    const bool good = row.has_value() && *row;
    if (good) look->reset();
    return good;
  };
  // Steps ever further, then back to the first key that can be read.
  int64_t bad = key, step = 1, good = 0;
  for (;; step *= 2) {
    if (bad > std::numeric_limits<int64_t>::max() - step || step > (int64_t{1} << 61)) return false;
    if (readable(bad + step)) {
      good = bad + step;
      break;
    }
    bad += step;
  }
  while (good - bad > 1) {
    const int64_t middle = bad + (good - bad) / 2;
    (readable(middle) ? good : bad) = middle;
  }
  key = good;
  return true;
}

Status Copier::copy(const Copied& table) {
  std::string marks = "?1";
  for (int i = 2; i <= table.count; ++i) marks += ", ?" + std::to_string(i);
  auto insert =
      to_.prepare("INSERT OR IGNORE INTO " + table.name + "(" + table.columns + ") VALUES(" + marks + ")");
  if (!insert) return failure(insert.error());
  insert_ = std::move(*insert);
  const std::string columns = "SELECT " + table.columns;
  if (!table.number_keys) {
    for (const char* order : {"", " DESC"}) {
      std::string by = table.key;
      if (const size_t comma = by.find(','); comma != std::string::npos) by.insert(comma, order);
      const auto all = copy_rows(table, columns + " FROM " + table.name + " ORDER BY " + by + order, 0);
      if (!all) return failure(all.error());
      if (*all) return {};
    }
    result_.lost.push_back("some of the table " + table.name);
    return {};
  }
  const std::string sql = columns + ", " + table.key + " FROM " + table.name + " NOT INDEXED WHERE " +
                          table.key + " >= ?1 ORDER BY " + table.key;
  constexpr int kMostHoles = 10000;
  int64_t from = 0;
  for (int holes = 0; holes < kMostHoles; ++holes) {
    last_key_ = from - 1;
    const auto all = copy_rows(table, sql, from);
    if (!all) return failure(all.error());
    if (*all) return {};
    const int64_t lost_after = last_key_;
    from = std::max(from, last_key_ + 1);
    const auto more = find_readable(table, from);
    result_.lost.push_back("the table " + table.name + " behind " + table.key + " " +
                           std::to_string(lost_after) +
                           (*more ? ", before " + std::to_string(from) : ", to its end"));
    if (!*more) return {};
  }
  return {};
}

Result<bool> is_sound(Connection& connection) {
  auto check = connection.prepare("PRAGMA integrity_check(1)");
  if (!check) return false;
  auto row = check->step();
  if (!row || !*row) return false;
  const bool sound = check->bytes(0) == "ok";
  check->reset();
  return sound;
}

bool is_ours(Connection& connection) {
  return connection.integer("PRAGMA application_id").value_or(0) == kApplicationId;
}

bool is_of_another_program(Connection& connection) {
  return !is_ours(connection) && connection.integer("SELECT count(*) FROM sqlite_schema").value_or(0) > 0 &&
         connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'jobs'").value_or(1) == 0;
}

// Returns false if the first page is damaged, or the file is shorter than that page says.
bool can_be_read(Connection& connection) {
  return connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'jobs'").value_or(0) == 1;
}

// Marks what is set aside as seen: it is kept, but not reported any more.
Status see_to_set_aside(Connection& database, Repair& result) {
  auto names = database.prepare("SELECT kind || ' ' || key FROM set_aside WHERE seen = 0 ORDER BY id");
  if (!names) return failure(names.error());
  while (true) {
    auto row = names->step();
    if (!row) return failure(row.error());
    if (!*row) break;
    result.set_aside.emplace_back(names->bytes(0));
  }
  if (result.set_aside.empty()) return {};
  return database.execute("UPDATE set_aside SET seen = 1");
}

Status copy_all(Connection& from, const std::string& path, Repair& result) {
  auto to = Connection::open(path, SQLITE_OPEN_READWRITE, "");
  if (!to) return failure(to.error());
  auto schema = from.integer("PRAGMA user_version");
  if (!schema) return failure(schema.error());
  if (Status prepared = prepare_database(**to, false, std::clamp<int64_t>(*schema, 1, kSchema)); !prepared)
    return prepared;
  if (Status begun = (*to)->execute("BEGIN"); !begun) return begun;
  {
    Copier copier(from, **to, result);
    for (const Copied& table : copied_tables(**to))
      if (Status copied = copier.copy(table); !copied) return copied;
  }
  if (*schema >= kFirstOfRecords)
    if (Status seen = see_to_set_aside(**to, result); !seen) return seen;
  if (Status done = (*to)->execute("COMMIT"); !done) return done;
  return (*to)->execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

std::string time_stamp() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  return {text, std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", ::localtime_r(&now, &parts))};
}

// Exchanges the database and its log for the repaired one.
Status exchange(const std::string& path, const std::string& fresh, const std::string& aside) {
  if (std::rename(path.c_str(), aside.c_str()) != 0) return failure_from_errno(aside, errno);
  (void)std::rename((path + "-wal").c_str(), (aside + "-wal").c_str());
  ::unlink((path + "-shm").c_str());
  (void)std::rename(roots_path(path).c_str(), roots_path(aside).c_str());
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return failure_from_errno(path, errno);
  return sync_with_directory(path);
}

}  // namespace

namespace {

// A daemon that starts from a copy does not know what ran since then. So the copy gets a journal's name that
// no launcher has, and the daemon settles what ran as after the loss of a journal.
Status belong_to_no_journal(const std::string& copy) {
  auto connection = Connection::open(copy, SQLITE_OPEN_READWRITE, "");
  if (!connection) return failure(connection.error());
  const auto schema = (*connection)->integer("PRAGMA user_version");
  if (!schema || *schema < kFirstOfRecords) return {};  // of an older program, which has no such row
  model::MachineState machine;
  {
    auto read = (*connection)->prepare("SELECT record FROM machine");
    if (!read) return failure(read.error());
    const auto found = read->step();
    if (!found) return failure(found.error());
    const std::string_view record = *found ? read->bytes(0) : std::string_view();
    if (!*found || !machine.ParseFromArray(record.data(), static_cast<int>(record.size()))) return {};
  }
  if (machine.journal_id().empty()) return {};  // nothing has run yet
  machine.set_journal_id("of a backup");
  auto write = (*connection)->prepare("UPDATE machine SET record = ?1");
  if (!write) return failure(write.error());
  const std::string record = machine.SerializeAsString();
  write->bind(1, record);
  return write->run();
}

}  // namespace

namespace {

// SQLite names the database that it reads, even where the copy's disk is full.
Error of_copy(const std::string& copy, const Error& error) {
  const bool is_full = error.code == ENOSPC || error.code == EDQUOT;
  return is_full ? Error{error.code, "cannot write " + copy + ": " + std::strerror(error.code)} : error;
}

Status copy_to(const std::string& path, const std::string& half) {
  auto made = make_file(half);
  if (!made) return failure(made.error());
  made->reset();
  {
    auto connection = Connection::open(path, SQLITE_OPEN_READONLY, "");
    if (!connection) return failure(connection.error());
    auto into = (*connection)->prepare("VACUUM INTO ?1");
    if (!into) return failure(into.error());
    into->bind_text(1, half);
    if (const Status done = into->run(); !done) return done;
  }
  if (const Status marked = belong_to_no_journal(half); !marked) return marked;
  return sync_with_directory(half);
}

// A file system that cannot rename without replacing (NFS) has links.
Status name_finished(const std::string& half, const std::string& copy) {
  if (::renameat2(AT_FDCWD, half.c_str(), AT_FDCWD, copy.c_str(), RENAME_NOREPLACE) != 0 &&
      (errno != EINVAL || ::link(half.c_str(), copy.c_str()) != 0 || ::unlink(half.c_str()) != 0))
    return failure_from_errno(copy, errno);
  return sync_with_directory(copy);
}

}  // namespace

Status back_up(const std::string& path, const std::string& copy) {
  if (::access(copy.c_str(), F_OK) == 0) return failure_from_errno(copy, EEXIST);
  const std::string half = copy + ".half";
  remove_database(half);  // of a backup that was killed
  Status done = copy_to(path, half);
  if (done) done = name_finished(half, copy);
  if (done) return done;
  remove_database(half);
  return failure(of_copy(copy, done.error()));
}

namespace {

Result<os::UniqueFd> lock_stopped(const std::string& path) {
  os::UniqueFd lock(::open((path + "-lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kOwnerOnly));
  if (!lock) return failure_from_errno(path + "-lock", errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return failure("the database is in use: stop the daemon first (minke down --keep-jobs)", EBUSY);
  return lock;
}

// Copies a backup into a fresh file, once it is sure that it is one.
Status take_backup(const std::string& copy, const std::string& fresh) {
  const std::string unreadable = copy + " is damaged, or no database: it is not restored";
  auto connection = Connection::open(copy, SQLITE_OPEN_READONLY, "");
  if (!connection) return failure(connection.error());
  const auto schema = (*connection)->integer("PRAGMA user_version");
  const auto tables = (*connection)->integer("SELECT count(*) FROM sqlite_schema");
  if (!schema || !tables) return failure(unreadable);
  if (!is_ours(**connection)) return failure(copy + " is no backup of a cluster");
  if (*schema > kSchema)
    return failure(copy + " was written by a newer version (schema " + std::to_string(*schema) +
                   ", this program knows " + std::to_string(kSchema) + "): restore it with that version");
  const auto sound = is_sound(**connection);
  if (!sound || !*sound) return failure(unreadable);
  auto into = (*connection)->prepare("VACUUM INTO ?1");
  if (!into) return failure(into.error());
  into->bind_text(1, fresh);
  return into->run();
}

// A name beside the database that no file has: what is kept there must not take the place of what was kept
// before.
std::string name_to_keep(const std::string& path, const char* why) {
  const std::string name = path + why + time_stamp();
  std::string free = name;
  for (int number = 2; ::access(free.c_str(), F_OK) == 0; ++number)
    free = name + "." + std::to_string(number);
  return free;
}

}  // namespace

Result<std::string> go_back_to(const std::string& path, const std::string& copy) {
  const auto lock = lock_stopped(path);
  if (!lock) return failure(lock.error());
  if (::access(copy.c_str(), R_OK) != 0) return failure_from_errno(copy, errno);
  const std::string fresh = path + ".restored";
  remove_database(fresh);
  if (auto made = make_file(fresh); !made) return failure(made.error());
  Status ready = take_backup(copy, fresh);
  if (ready) ready = belong_to_no_journal(fresh);  // a copy by cp belongs to the journal of then
  if (ready) ready = sync_with_directory(fresh);
  if (!ready) {
    remove_database(fresh);
    return failure(ready.error());
  }
  if (::access(path.c_str(), F_OK) != 0) {
    for (const char* end : {"-wal", "-shm"}) ::unlink((path + end).c_str());
    if (std::rename(fresh.c_str(), path.c_str()) != 0) return failure_from_errno(path, errno);
    if (const Status synced = sync_with_directory(path); !synced) return failure(synced.error());
    return std::string();
  }
  const std::string kept_as = name_to_keep(path, ".before-");
  if (const Status exchanged = exchange(path, fresh, kept_as); !exchanged) return failure(exchanged.error());
  return kept_as;
}

Result<Repair> repair(const std::string& path) {
  const auto lock = lock_stopped(path);
  if (!lock) return failure(lock.error());
  if (const Status there = check_not_emptied(path, {}); !there) return failure(there.error());
  Repair result;
  const std::string fresh = path + ".repaired";
  {
    auto damaged = Connection::open(path, SQLITE_OPEN_READWRITE, "");
    if (!damaged) return failure(damaged.error());
    if (is_of_another_program(**damaged))
      return failure(path + " is a database of another program: move it away");
    const auto sound = is_sound(**damaged);
    if (sound && *sound && is_ours(**damaged)) {
      result.was_sound = true;
      const auto schema = (*damaged)->integer("PRAGMA user_version");
      if (!schema || *schema < kFirstOfRecords) return result;  // an earlier schema has nothing set aside
      if (const Status seen = see_to_set_aside(**damaged, result); !seen) return failure(seen.error());
      return result;
    }
    const std::string readable = path + ".readable";
    if (!can_be_read(**damaged)) {
      damaged->reset();
      const Status made = make_readable_copy(path, readable, result.lost);
      if (made) damaged = Connection::open(readable, SQLITE_OPEN_READWRITE, "");
      if (!made || !damaged) {
        remove_database(readable);
        return failure(made ? damaged.error() : made.error());
      }
    }
    remove_database(fresh);
    if (auto made = make_file(fresh); !made) return failure(made.error());
    const Status copied = copy_all(**damaged, fresh, result);
    damaged->reset();
    remove_database(readable);
    if (!copied) return failure(copied.error());
  }
  for (const char* end : {"-wal", "-shm"}) ::unlink((fresh + end).c_str());
  if (Status synced = sync_with_directory(fresh); !synced) return failure(synced.error());
  result.kept_as = name_to_keep(path, ".damaged-");
  if (Status exchanged = exchange(path, fresh, result.kept_as); !exchanged) return failure(exchanged.error());
  return result;
}

}  // namespace minke::store
