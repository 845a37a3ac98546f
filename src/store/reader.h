// The thread that answers accounting queries, on a read-only connection of its own.
//
// Queries take turns, a chunk each, so that a short one does not wait for a long one. The thread sleeps on a
// condition variable while there are none, and then holds no pages of the database in memory.
//
// query() and the destructor: the owner's thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "store/report.h"
#include "store/sqlite.h"
#include "store/store.h"

namespace minke::store {

class Reader {
 public:
  using Chunk = std::function<void(Result<std::vector<AccountedJob>>)>;

  static Result<std::unique_ptr<Reader>> start(std::unique_ptr<Connection> connection);
  ~Reader();  // ends with an error what still runs

  void query(AccountingQuery query, Chunk chunk);

 private:
  struct Running {
    Report report;
    Chunk chunk;
  };

  Reader(std::unique_ptr<Connection> connection, ReportStatements statements);
  void work();
  bool advance(Running& running);  // false: it has ended

  std::unique_ptr<Connection> connection_;
  ReportStatements statements_;

  std::mutex mutex_;
  std::condition_variable handed_in_;
  std::deque<std::unique_ptr<Running>> running_;  // guarded by mutex_; the one whose turn it is is not in it
  bool stop_ = false;                             // guarded by mutex_
  std::thread thread_;
};

}  // namespace minke::store
