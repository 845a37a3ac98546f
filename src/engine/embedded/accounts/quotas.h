// Quotas by counting: who has more in a tier of storage than it allows starts no new jobs.
//
// A process of its own counts (minke storage-count), and only while jobs wait: a directory is counted when
// its count is old, or when a job has ended that may have changed it, but never for more than a small part of
// the time. What is over a hard limit counts at once, what is over a soft one when the grace is over. Counts
// are kept in the store, so that the grace goes on after a restart. What has never been counted holds nobody
// up. State's thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/embedded/job_events.h"
#include "os/event_loop.h"
#include "os/fd.h"
#include "storage/tiers.h"

namespace minke::store {
class LoadedRows;
}  // namespace minke::store

namespace minke::engine {

struct Core;

class Quotas : public JobListener {
 public:
  explicit Quotas(Core& core);
  ~Quotas() override;

  void restore(store::LoadedRows& rows);
  // Why this user's jobs do not start, for people, with the command that finds out more; empty: they may.
  // Begins with kQuotaExceeded.
  std::string problem(uint32_t uid, uint32_t gid);
  void job_ended(Job& job, bool ran) override;
  void configuration_changed();

 private:
  struct Count {
    uint64_t space = 0, files = 0;
    int64_t time = 0;  // s; 0: never counted
    // s: since when it is over the soft limit; 0: it is not.
    int64_t space_over = 0, files_over = 0;
    uint64_t milliseconds = 0;  // that counting took
    bool changed = false;       // since then, probably
    bool asked = false;         // being counted, or about to be
  };
  struct Place {
    storage::Tier tier;
    std::string path;
  };
  struct Counting;

  const std::vector<Place>& places_of(uint32_t uid, uint32_t gid);
  std::string problem_in(const Place& place, const Count& count) const;
  bool is_due(const Count& count) const;
  void count();
  void on_result();
  void take(const std::string& line);
  void keep(const std::string& path, const Count& count);
  void look_again();  // at all jobs that wait
  void set_timer();

  Core& core_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Place>> places_;  // by user and group
  std::map<std::string, Count> counts_;                                 // by path
  std::set<std::pair<uint32_t, uint32_t>> held_;
  std::vector<std::string> wanted_;
  bool count_posted_ = false;
  std::unique_ptr<Counting> counting_;
  bool armed_ = false;
  std::unique_ptr<os::EventLoop::Timer> timer_;
};

inline constexpr char kQuotaExceeded[] = "DiskQuotaExceeded";
bool held_by_quota(const Job& job);

}  // namespace minke::engine
