// Connections and prepared statements of SQLite, with errors as values. This layer knows no tables.
//
// Invariant: one thread at a time uses a connection and its statements (they take no locks), and the
// statements are destroyed before their connection.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::store {

// One prepared statement, kept for reuse: bind, step to the end or reset, bind again. Bound bytes are not
// copied: they must live until the statement is reset.
class Statement {
 public:
  Statement() = default;

  void bind(int index, int64_t value);
  void bind(int index, std::string_view bytes);  // as a blob
  void bind_text(int index, std::string_view text);
  void bind_null(int index);

  // Returns whether there is a row; false also resets the statement.
  Result<bool> step();
  // Runs a statement that has no rows, and resets it, even after an error.
  Status run();
  void reset();

  int64_t integer(int column) const;
  std::string_view bytes(int column) const;  // valid until the next step or reset
  bool is_null(int column) const;

  sqlite3_stmt* handle() const { return statement_.get(); }

 private:
  friend class Connection;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  const std::string* path_ = nullptr;
  int bind_error_ = SQLITE_OK;
};

class Connection {
 public:
  // `flags` are SQLITE_OPEN_…; `vfs` may be empty. Waits up to some seconds if another
  // program holds a lock.
  static Result<std::unique_ptr<Connection>> open(const std::string& path, int flags, const std::string& vfs);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Result<Statement> prepare(std::string_view sql);
  Status execute(const std::string& sql);         // one statement or several, no results
  Result<int64_t> integer(std::string_view sql);  // the first column of the only row
  bool in_transaction() const;
  void release_memory();

  // The error of the last call, in words for a person: what is wrong with this file and what to do.
  tl::unexpected<Error> error(int result_code) const;

  sqlite3* handle() const { return handle_; }
  const std::string& path() const { return path_; }

 private:
  Connection(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  sqlite3* handle_;
  std::string path_;
};

}  // namespace minke::store
