// Which jobs a farm lacks: for cases that nobody who is there, or will be, may take. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "farm/ledger.h"

namespace minke::farm {

// Jobs that run or wait in the queue.
struct Present {
  uint64_t jobs = 0;
  uint32_t level = 0;  // of memory
  std::string host;    // empty: not known yet
};
struct Wish {
  uint32_t level = 0;
  std::string other_than;  // not on this host; empty: on any
  uint64_t cases = 0;
  uint64_t jobs = 0;  // that lack; 0: as many as whoever submits them thinks right
};
// One for each kind of job that is lacking; the plain one first. Plain jobs lack where there are fewer than
// `target`, or than cases for them; where `target` is 0, where there is none.
std::vector<Wish> wishes(const Ledger& ledger, const std::vector<Present>& present, uint64_t target = 0);

// What a worker that leaves knows of the others, without asking the cluster: members whose processes live
// (`is_alive`), and the jobs of submissions that have not come yet.
std::vector<Present> present_by_ledger(const Ledger& ledger, const std::vector<uint32_t>& alive);

}  // namespace minke::farm
