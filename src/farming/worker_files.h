// What a worker writes down of its own cases, in files that nobody else writes: how they ended (one record
// each), what its slots run now, sums, and what they printed. One thread; blocking.
//
//   worker.N.ends     records of farm::Outcome, in the order of the ends
//   worker.N.running  one farm::Running for each slot
//   worker.N.tally    sums over the first so many records, written about once a second
//   worker.N.output.S what the cases of slot S printed, one behind the other
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "farm/outcome.h"
#include "farm/tally.h"
#include "os/fd.h"

namespace minke::farming {

std::string worker_path(const std::string& directory, uint32_t worker, std::string_view what);

class WorkerFiles {
 public:
  // In the turn in which the ledger gets this worker, which it does not know yet.
  static Result<WorkerFiles> create(const std::string& directory, uint32_t worker, uint32_t slots,
                                    bool with_output);

  // Makes room on the disk for `cases` more records. Error: ENOSPC and others: then no case may start.
  Status make_room(uint64_t cases);
  Status began(uint16_t slot, const farm::Running& running);
  // In the kernel's hands when it returns; on the disk with the next sync().
  Status ended(const farm::Outcome& outcome);
  Status sync();

  int output(uint16_t slot) const { return output_[slot].get(); }  // -1: none is kept
  uint64_t output_size(uint16_t slot) const;
  const farm::Tally& tally() const { return tally_; }

 private:
  WorkerFiles() = default;

  std::string tally_path_;
  os::UniqueFd ends_, running_, tally_file_;
  std::vector<os::UniqueFd> output_;
  uint64_t ends_bytes_ = 0, room_bytes_ = 0;
  farm::Tally tally_;
  bool changed_ = false;
};

// All records of a worker from `skip` on, in their order. A last one that is not whole is left out.
Status for_each_outcome(const std::string& directory, uint32_t worker, uint64_t skip,
                        const std::function<void(const farm::Outcome&)>& take);
// The sums of all its records, whether it wrote them down or not.
Result<farm::Tally> tally_of(const std::string& directory, uint32_t worker);
// Of its slots that run something: what has ended by its records is not among them.
std::vector<farm::Running> running_of(const std::string& directory, uint32_t worker);

}  // namespace minke::farming
