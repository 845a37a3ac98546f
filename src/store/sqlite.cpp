#include "store/sqlite.h"

#include <cerrno>
#include <cstring>

namespace minke::store {
namespace {

constexpr int kLockWaitMilliseconds = 5000;

tl::unexpected<Error> describe(sqlite3* handle, const std::string& path, int result_code) {
  const int system_error = sqlite3_system_errno(handle);
  const std::string database = "the database " + path;
  switch (result_code & 0xff) {
    case SQLITE_FULL:
      return failure("cannot write " + database + ": No space left on device", ENOSPC);
    case SQLITE_IOERR:
      if (system_error == ENOSPC || system_error == EDQUOT) {
        return failure("cannot write " + database + ": " + std::strerror(system_error) + ": make room there",
                       system_error);
      }
      return failure("input/output error on " + database + ": " +
                         (system_error != 0 ? std::strerror(system_error) : sqlite3_errmsg(handle)) +
                         ": check the disk and its file system",
                     system_error != 0 ? system_error : EIO);
    case SQLITE_NOTADB:
      return failure(
          path +
          " is not a database, or its first page is damaged: stop the daemon, and save what can be "
          "read with: minke doctor --repair");
    case SQLITE_CORRUPT:
      return failure(database + " is damaged (" + sqlite3_errmsg(handle) +
                     "): stop the daemon, and save what can be read with: minke doctor --repair");
    case SQLITE_READONLY:
      return failure(database + " is not writable: check the rights of the file and of its directory",
                     EACCES);
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return failure("cannot open " + database + ": " +
                         (system_error != 0 ? std::strerror(system_error) : sqlite3_errmsg(handle)),
                     system_error);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return failure(database + " is locked by another program: close it there", EBUSY);
    case SQLITE_NOMEM:
      return failure("out of memory while using " + database, ENOMEM);
    default:
      return failure(database + ": " + sqlite3_errmsg(handle));
  }
}

}  // namespace

void Statement::bind(int index, int64_t value) {
  if (int code = sqlite3_bind_int64(statement_.get(), index, value); code != SQLITE_OK) bind_error_ = code;
}

void Statement::bind(int index, std::string_view bytes) {
  // An empty view may have no address, which SQLite would take for NULL.
  const char* data = bytes.empty() ? "" : bytes.data();
  const int code = sqlite3_bind_blob64(statement_.get(), index, data, bytes.size(), SQLITE_STATIC);
  if (code != SQLITE_OK) bind_error_ = code;
}

void Statement::bind_text(int index, std::string_view text) {
  const char* data = text.empty() ? "" : text.data();
  const int code =
      sqlite3_bind_text64(statement_.get(), index, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  if (code != SQLITE_OK) bind_error_ = code;
}

void Statement::bind_null(int index) {
  sqlite3_bind_null(statement_.get(), index);
}

Result<bool> Statement::step() {
  sqlite3* handle = sqlite3_db_handle(statement_.get());
  if (bind_error_ != SQLITE_OK) {
    const int code = std::exchange(bind_error_, SQLITE_OK);
    reset();
    return failure("the database " + *path_ + ": " + sqlite3_errstr(code));
  }
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    reset();
    return false;
  }
  auto error = describe(handle, *path_, code);
  reset();
  return error;
}

Status Statement::run() {
  auto row = step();
  if (!row) return failure(row.error());
  if (*row) reset();
  return {};
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return {static_cast<const char*>(data), static_cast<size_t>(size)};
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, int flags,
                                                     const std::string& vfs) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                                   vfs.empty() ? nullptr : vfs.c_str());
  if (handle == nullptr) return failure("out of memory while opening the database " + path, ENOMEM);
  std::unique_ptr<Connection> connection(new Connection(handle, path));
  if (code != SQLITE_OK) return connection->error(code);
  sqlite3_busy_timeout(handle, kLockWaitMilliseconds);
  return connection;
}

Connection::~Connection() {
  MINKE_CHECK(sqlite3_close(handle_) == SQLITE_OK);
}

Result<Statement> Connection::prepare(std::string_view sql) {
  Statement statement;
  sqlite3_stmt* prepared = nullptr;
  const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  if (code != SQLITE_OK) return error(code);
  statement.statement_.reset(prepared);
  statement.path_ = &path_;
  return statement;
}

Status Connection::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code);
  return {};
}

Result<int64_t> Connection::integer(std::string_view sql) {
  auto statement = prepare(sql);
  if (!statement) return failure(statement.error());
  auto row = statement->step();
  if (!row) return failure(row.error());
  MINKE_CHECK(*row);
  return statement->integer(0);
}

bool Connection::in_transaction() const {
  return sqlite3_get_autocommit(handle_) == 0;
}

void Connection::release_memory() {
  sqlite3_db_release_memory(handle_);
}

tl::unexpected<Error> Connection::error(int result_code) const {
  return describe(handle_, path_, result_code);
}

}  // namespace minke::store
