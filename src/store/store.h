// Durable state: one SQLite database (WAL, synchronous=FULL) under the cluster's home.
//
// Invariants
// - What a commit's callback has reported as done survives a crash of the program and of the machine.
// - Commits are grouped: everything handed over while a transaction is being synced goes into the next
//   one, so that one fsync serves everybody who waits. Batches are applied in the order they were handed in.
//   A group takes some ten thousand rows at most.
// - A batch is atomic.
// - The last write of a row wins inside a group, so a job that starts and ends within one group is one write.
//
// Threads: every function from one thread, the owner of the cluster's state. Commits run on the store's
// writer thread, queries on its reader thread, the owner's small reads on a third connection, so that a long
// report delays neither commits nor the owner. Callbacks are called on the store's threads: they must only
// post to the owner's event loop. Both threads sleep while there is nothing to do.
//
// store/job_row.h has what it stores of jobs, and store/tables.h other records.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/content_hash.h"

namespace minke::store {

struct AccountedJob;
struct Batch;
struct JobRow;
struct Loaded;

// Without `duplicates` it selects the latest run of each job among those submitted before `until`.
struct AccountingQuery {
  std::vector<uint32_t> job_ids = {};   // job or array ids; empty: all
  int64_t from = 0;                     // jobs that ended at or after it, or have not ended
  int64_t until = 0;                    // jobs submitted before it; 0: no bound
  std::vector<uint32_t> uids = {};      // empty: all
  std::vector<std::string> names = {};  // job names = {}; empty: all
  bool with_steps = false;
  bool duplicates = false;  // also earlier runs of requeued jobs
  int64_t ended_since = 0;  // not 0: only jobs that ended at or after it (squeue --states=all)
  // Only jobs that ended (at `from` or later), the latest first, and of one second the highest run first.
  bool newest_first = false;
  int64_t behind_end = 0, behind_run = 0;  // then, if not 0: only those behind this one (schema.h: run)
  uint32_t asker = 0;                      // queries of one asker take turns with those of others; any number
};
struct Options {
  bool sync = true;  // false: synchronous=OFF, for measuring only
  std::string vfs;   // SQLite's name of the file layer to use; empty: its default. For fault injection.
  // Length of the log, in pages of 4 KiB, at which it is folded into the database. A page that many commits
  // change is then copied once.
  int checkpoint_pages = 1000;
  std::vector<std::string> signs =
      {};  // of a cluster that lived: then an empty file is no new database (emptied.h)
};

class Store {
 public:
  // Creates the database (0600) if there is none, and migrates an older schema. Holds PATH-lock until
  // destroyed. Fails if it is in use by another process, not writable, not a database, damaged, or written by
  // a newer version; each message has the path and what to do.
  static Result<std::unique_ptr<Store>> open(const std::string& path, const Options& options = {});
  // Waits for the commits handed in; queries that still run end with an error.
  virtual ~Store() = default;

  virtual Result<Loaded> load() = 0;

  // `done` gets the group's outcome, in the order of the commits. A failed commit (disk full: ENOSPC as the
  // code) leaves the database as it was; the caller keeps the batch and decides whether to try again or to
  // refuse. Only if the disk itself fails (EIO) and the machine stops right after may the batch be found
  // whole after all. An empty batch is done once all before it are.
  virtual void commit(Batch batch, std::function<void(Status)> done) = 0;

  // Removes the runs that ended before a time (s since the epoch), with everything that belongs to them
  // alone, bit by bit between commits. Active runs and the latest job stay. `done` gets the number of runs
  // removed. An error leaves the rest for another time.
  virtual void forget(int64_t ended_before, std::function<void(Result<uint64_t>)> done) = 0;

  using OnChunk = std::function<void(Result<std::vector<AccountedJob>>)>;
  // Calls `chunk` with up to some hundred jobs at a time, ordered by (job_id, restarts) unless the query says
  // otherwise, then once with an empty vector: the end. An error ends it at once. Queries take turns, by
  // asker and chunk by chunk. Each chunk is read as of its own moment, so that a report of any length keeps
  // neither memory nor the log of commits.
  virtual void query(AccountingQuery query, OnChunk chunk) = 0;

  // The same for a slow reader: each chunk after the first is read when it is asked for. The caller destroys
  // it to stop; one more chunk may be on its way then.
  class Reading {
   public:
    virtual ~Reading() = default;
    virtual void next() = 0;
  };
  virtual std::unique_ptr<Reading> read(AccountingQuery query, OnChunk chunk) = 0;

  // A Reading for stores that have all chunks at once: query() has already passed on all of them.
  class ReadAtOnce final : public Reading {
   public:
    void next() override {}
  };

  // Small synchronous reads; they see everything reported as committed.
  virtual Result<std::optional<std::string>> content(const ContentHash& hash) = 0;
  virtual Result<std::optional<uint32_t>> submission(const std::string& key) = 0;
  virtual Result<std::optional<JobRow>> job(uint32_t job_id) = 0;  // its latest run
  virtual Result<std::optional<std::string>> series(uint32_t job_id, uint32_t restarts) = 0;
  // Returns what could not be read, now or earlier, was set aside, and has not been handled since
  // (repair.h): "job 5".
  virtual Result<std::vector<std::string>> set_aside() = 0;
  // Of the records of an array, each by its latest run: how many have ended, and how many of them as
  // JOB_COMPLETE with exit code 0. Tasks that were cancelled while pending in one record count as one.
  struct ArrayOutcome {
    uint64_t ended = 0;
    uint64_t succeeded = 0;
  };
  virtual Result<ArrayOutcome> array_outcome(uint32_t array_job_id) = 0;
  // Returns the latest run of one task of an array; nothing while it is pending with others in one record.
  virtual Result<std::optional<JobRow>> array_task(uint32_t array_job_id, uint32_t index) = 0;
};

}  // namespace minke::store
