// Reads the job and step records that `sacct -P` printed, Slurm's or ours: the way to move a cluster's
// accounting to another cluster.
//
// The first line names the columns. The character behind the first name separates them ("|" in sacct, or the
// one of --delimiter). Columns are found by name, in any order; unknown ones are ignored, and only those of
// kNeeded are required. Times are local dates, "uts1700000000" or plain seconds. If a job appears several
// times (sacct -D), each further record is a later run. A value with a line break continues in the next line.
// Jobs that have not ended are skipped, and counted, unless they are wanted.
//
// Pure but for the time zone. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/job_record.pb.h"
#include "model/job_terms.pb.h"
#include "model/step_record.pb.h"

namespace minke::model {
class Usage;
}  // namespace minke::model

namespace minke::text {

struct AccountedRecords {
  model::JobRecord job;  // with its spec, as far as sacct reports it; uid is kNoUser if no column gives it
  std::vector<model::StepRecord> steps;
};

class SacctReader {
 public:
  static constexpr uint32_t kNoUser = 0xffffffff;
  enum class Unfinished { kPassOver, kTake };
  explicit SacctReader(Unfinished unfinished = Unfinished::kPassOver) : wanted_(unfinished) {}

  static constexpr std::string_view kNeeded[] = {"JobID", "State", "Submit", "End"};

  // Takes the next line, without its end. An error says what is wrong with it; the reader can go on.
  Status line(std::string_view text);
  // Call it after the last line.
  void finish();
  // Returns the jobs that are complete, in the order of their records, and forgets them.
  std::vector<AccountedRecords> take();
  size_t ready() const { return ready_.size(); }
  uint64_t unfinished() const { return unfinished_; }  // jobs skipped: pending or running

 private:
  Status header(std::string_view text);
  Status record();
  Status job();
  Status read_id();
  void read_owner();
  void read_outcome();
  void read_resources();
  void read_spec();
  Status step(std::string_view suffix);
  void close();
  void hold_nodes();
  std::string_view cell(std::string_view name) const;  // empty: not present
  int64_t time(std::string_view name) const;           // 0: not known
  uint64_t number(std::string_view name) const;
  void read_times_used(model::Usage& usage) const;
  void read_usage(uint64_t tasks, model::Usage& usage) const;

  Unfinished wanted_;
  std::string delimiter_;
  std::unordered_map<std::string, size_t> columns_;  // by name in lower case
  bool starts_with_id_ = false;                      // whether each record starts with a job's number
  std::string text_;                                 // of the current record
  std::vector<std::string_view> cells_;              // of text_
  bool open_ = false;                                // whether steps of job_ may follow
  std::string job_id_;                               // of job_, as in JobID
  AccountedRecords job_;
  std::unordered_map<uint32_t, uint32_t> runs_;  // by job id
  std::vector<AccountedRecords> ready_;
  uint64_t unfinished_ = 0;
};

}  // namespace minke::text
