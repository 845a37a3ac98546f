// The thread that answers accounting queries, on a read-only connection of its own.
//
// Who asks take turns, and the queries of each take turns, a chunk each, so that a short one does not wait
// for a long one, nor one user for another's many. A query of somebody who takes his time rests after each
// chunk. The thread sleeps on a condition variable while there are none, and then holds no pages of the
// database in memory.
//
// query(), read() and the destructor: the owner's thread. A Reading may be destroyed after the Reader.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
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
  // What is damaged is passed over, and told on the thread.
  using OnDamaged = std::function<void(std::vector<DamagedRow>)>;
  static Result<std::unique_ptr<Reader>> start(std::unique_ptr<Connection> connection, OnDamaged on_damaged);
  ~Reader();  // ends with an error what still runs

  void query(AccountingQuery query, Store::OnChunk chunk);
  std::unique_ptr<Store::Reading> read(AccountingQuery query, Store::OnChunk chunk);

 private:
  struct Running;
  struct Shared;
  class Rest;

  Reader(std::unique_ptr<Connection> connection, ReportStatements statements, OnDamaged on_damaged);
  std::shared_ptr<Running> begin(AccountingQuery query, Store::OnChunk chunk, bool rests);
  void work();
  enum class Outcome { kEnded, kNothingYet, kChunk };
  Outcome advance(Running& running);

  std::unique_ptr<Connection> connection_;
  ReportStatements statements_;
  OnDamaged on_damaged_;
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace minke::store
