// The thread that commits. It takes all pending batches, writes them in one transaction, and reports to all.
//
// Invariants: a batch is reported done only after its group was synced; groups are written in the order
// handed in; a group that fails leaves nothing behind. The thread sleeps on a condition variable while
// nothing waits. Between two groups it does a slice of the work of retention.h.
//
// Checkpoints (copying the log into the database) are made here too, after the reports, so that earlier
// callers do not wait for them.
//
// The owner's thread calls commit() and the destructor.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "store/group.h"
#include "store/retention.h"
#include "store/rows.h"
#include "store/sqlite.h"

namespace minke::store {

class Writer {
 public:
  // `connection` must be prepared (schema.h).
  static Result<std::unique_ptr<Writer>> start(std::unique_ptr<Connection> connection, int checkpoint_pages);
  ~Writer();  // commits what waits

  void commit(Batch batch, std::function<void(Status)> done);
  void forget(int64_t ended_before, Retention::Done done);  // unfinished work is left at the end

 private:
  Writer(std::unique_ptr<Connection> connection, RowWriter rows, Retention retention, int checkpoint_pages);
  void work();
  std::vector<PendingCommit> take_group();  // blocks; empty at the end, or if there is something to forget
  bool more_to_do();                        // false at the end
  void forget_a_slice();
  Status write(const std::vector<PendingCommit>& commits);
  Status write_rows(const std::vector<PendingCommit>& commits);
  void checkpoint_if_due();

  std::unique_ptr<Connection> connection_;
  RowWriter rows_;
  Retention retention_;
  Statement begin_, commit_, rollback_;
  const int checkpoint_pages_;
  int log_pages_ = 0;  // of the write-ahead log, after the last commit

  std::mutex mutex_;
  std::condition_variable handed_in_;
  std::deque<PendingCommit> waiting_;                          // guarded by mutex_
  std::deque<std::pair<int64_t, Retention::Done>> to_forget_;  // guarded by mutex_
  bool stop_ = false;                                          // guarded by mutex_
  std::thread thread_;
};

}  // namespace minke::store
