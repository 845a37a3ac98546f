// Reads the record of jobs and steps that `sacct -P` printed, Slurm's or ours: what a cluster has in its
// accounting comes with that from one to another.
//
// The first line names the columns; whatever stands behind the first name parts them ("|" as sacct has it, or
// what --delimiter said). Columns are found by their names, in any order; unknown ones are passed over, and
// only those of kNeeded must be there. Times are local, "uts1700000000" or plain seconds. Of a job that is
// there several times (sacct -D) each further one is a later run. A text with a line's end in it goes on in
// the next line. Jobs that have not ended are passed over, and counted.
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
  model::JobRecord job;  // with its spec, as far as sacct tells it; uid kNoUser where no column says
  std::vector<model::StepRecord> steps;
};

class SacctReader {
 public:
  static constexpr uint32_t kNoUser = 0xffffffff;
  static constexpr std::string_view kNeeded[] = {"JobID", "State", "Submit", "End"};

  // The next line, without its end. Errors say what is wrong with it; the reader can go on.
  Status line(std::string_view text);
  // After the last line.
  void finish();
  // Jobs that are complete, in the order in which they came; they are the caller's from then on.
  std::vector<AccountedRecords> take();
  size_t ready() const { return ready_.size(); }
  uint64_t unfinished() const { return unfinished_; }  // jobs passed over: pending or running

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
  std::string_view cell(std::string_view name) const;  // empty: not there
  int64_t time(std::string_view name) const;           // 0: not known
  uint64_t number(std::string_view name) const;
  void read_tres(std::string_view text, uint32_t& cpus, uint64_t& memory_mib, uint32_t& nodes,
                 google::protobuf::RepeatedPtrField<model::Gres>& gres, double* billing) const;
  void read_times_used(model::Usage& usage) const;
  void read_usage(uint64_t tasks, model::Usage& usage) const;

  std::string delimiter_;
  std::unordered_map<std::string, size_t> columns_;  // by name in lower case
  bool starts_with_id_ = false;                      // each record, with a job's number
  std::string text_;                                 // of the record at hand
  std::vector<std::string_view> cells_;              // of text_
  bool open_ = false;                                // job_ is one whose steps may come
  std::string job_id_;                               // of it, as in JobID
  AccountedRecords job_;
  std::unordered_map<uint32_t, uint32_t> runs_;  // by job id
  std::vector<AccountedRecords> ready_;
  uint64_t unfinished_ = 0;
};

}  // namespace minke::text
