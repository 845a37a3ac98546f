// The state of a farm that its workers share: which cases nobody has taken yet, which wait to run again, who
// has taken which. It is what the ledger's entries say, applied in their order; so all workers that have read
// as far agree. Pure; one thread.
//
// What must hold: a case is fresh (number > taken()), or waits in one place, or is held by one worker, or is
// over. An entry that contradicts that is not applied, and named.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "farm/entry.h"

namespace minke::farm {

// Cases that follow each other, and which attempt it is for all of them.
struct Range {
  uint64_t first = 0;  // from 1
  uint64_t count = 0;
  uint32_t attempt = 0;
};

struct Waiting {
  uint64_t count = 0;
  uint32_t attempt = 0;
  uint32_t level = 0;      // the least level of memory
  std::string other_than;  // not on this host; empty: on any
};

struct Member {
  std::string job;  // its number as squeue shows it; empty: no job
  std::string host;
  std::string boot;  // the kernel's id of that host's boot
  uint32_t level = 0;
  uint32_t slots = 1;
  int64_t since = 0;  // s since the epoch
  bool gone = false;
  uint64_t retries = 0;      // that it has put back to run again
  std::vector<Range> taken;  // until it has gone; those that have ended among them
};

// A case that was lost with its worker.
struct LostCase {
  uint64_t number = 0;
  uint32_t attempt = 0;
  uint32_t worker = 0;
  uint8_t ending = 0;  // farm::Ending
  bool again = false;
};

struct Submission {
  std::string key;
  uint32_t jobs = 0;
  uint32_t level = 0;
  int64_t since = 0;               // s since the epoch
  std::optional<uint32_t> job_id;  // nothing: nobody knows yet; 0: refused
};

struct Seeker {
  uint32_t level = 0;
  std::string host;
};

class Ledger {
 public:
  // Error: the entry contradicts those before it.
  Status apply(const Entry& entry);

  uint64_t cases() const { return cases_; }
  uint64_t fresh() const { return cases_ - taken_; }  // never taken
  bool stopped() const { return stopped_; }
  const std::map<uint64_t, Waiting>& waiting() const { return waiting_; }
  const std::map<uint32_t, Member>& members() const { return members_; }
  const std::vector<Submission>& submissions() const { return submissions_; }
  uint64_t lost_for_good() const { return lost_for_good_; }  // cases
  const std::vector<LostCase>& lost() const { return lost_; }
  uint64_t put_again() const { return put_again_; }  // cases that had failed for good, by their user
  std::optional<uint64_t> cut_off_us() const { return cut_off_us_; }
  uint64_t cut_off_from() const { return cut_off_from_; }  // of so many cases
  uint32_t next_worker() const { return members_.empty() ? 1 : members_.rbegin()->first + 1; }

  // What `who` takes next: what was given back, then the table's order, then what runs again; at most `most`
  // cases. Nothing: there is nothing for it.
  std::optional<Range> next(const Seeker& who, uint64_t most) const;
  uint64_t left_for(const Seeker& who) const;  // cases
  uint64_t left() const;                       // not taken, or waiting for anybody

 private:
  Status take(const Entry& entry);
  Status put_back(const Entry& entry, const std::string& other_than);
  Status lose(const Entry& entry);
  void shun(const Entry& entry);
  bool has_waiting(uint64_t first, uint64_t count) const;

  uint64_t cases_ = 0, taken_ = 0;
  bool stopped_ = false;
  std::map<uint64_t, Waiting> waiting_;  // by the first case
  std::map<uint32_t, Member> members_;
  std::vector<Submission> submissions_;
  std::vector<LostCase> lost_;
  uint64_t lost_for_good_ = 0, put_again_ = 0;
  std::optional<uint64_t> cut_off_us_;
  uint64_t cut_off_from_ = 0;
};

}  // namespace minke::farm
