// Retention: removes runs that ended long ago, with everything that belongs to them.
//
// It has four phases, each in slices of bounded size between two commits: remove the runs, with their steps
// and series, and their specification if no other run has it; find the scripts and environments still in use;
// remove those that are not; remove the keys of submissions whose jobs are gone. What a commit stores
// meanwhile stays. Active runs stay, and so does the run with the highest number, because new jobs are
// numbered after it. The file reuses the space; it does not shrink.
//
// The set of contents in use takes 16 MiB, whatever their number, so some unused ones may stay
// until another time.
//
// Used by the writer's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "store/sqlite.h"
#include "store/store.h"

namespace minke::store {

class Retention {
 public:
  using Done = std::function<void(Result<uint64_t>)>;  // the number of runs removed

  static Result<Retention> prepare(Connection& connection);

  // One at a time: another request begins when this one has ended.
  void begin(int64_t ended_before, Done done);
  bool busy() const { return phase_ != Phase::kIdle; }
  // Does one piece of the work, within the caller's transaction. An error ends it all.
  Status advance();
  // Called once the piece is committed, or has failed: reports to the caller when all is done.
  void settled(const Status& outcome);

  void stored(const ContentHash& hash);  // called by a commit

 private:
  enum class Phase : uint8_t { kIdle, kRuns, kMark, kContents, kSubmissions, kDone };

  Status remove_runs();
  Status remove_run(int64_t run);
  Status remove_spec_if_unused(uint32_t spec_id);
  Status mark();
  Status remove_contents();
  Status remove_submissions();
  Result<bool> exists(Statement& statement);
  static size_t bit_of(std::string_view hash);

  Phase phase_ = Phase::kIdle;
  int64_t ended_before_ = 0;
  Done done_;
  uint64_t removed_ = 0;
  int64_t position_ = 0;      // in the table of the current phase
  std::string last_key_;      // of submissions
  std::vector<bool> in_use_;  // by the first bits of the contents' hashes
  Statement runs_, drop_run_, drop_steps_, drop_series_, run_between_, task_of_, drop_spec_;
  Statement references_, contents_, drop_content_, submissions_, drop_submission_;
};

}  // namespace minke::store
