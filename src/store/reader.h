// The thread that answers accounting queries, on a read-only connection of its own.
//
// Askers take turns, and the queries of each asker take turns, one chunk each. So a short query does
// not wait for a long one, nor a user for the many of another. The query of a slow reader rests after
// each chunk. Without queries the thread sleeps on a condition variable, and holds no pages of the
// database in memory.
//
// The owner's thread calls query(), read() and the destructor. A Reading may be destroyed after the Reader.
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
  // Damaged rows are skipped, and reported here on the thread.
  using OnDamaged = std::function<void(std::vector<DamagedRow>)>;
  static Result<std::unique_ptr<Reader>> start(std::unique_ptr<Connection> connection, OnDamaged on_damaged);
  ~Reader();  // ends what still runs with an error

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
