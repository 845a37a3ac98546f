// Quotas: a user who has more in a storage tier than it allows starts no new jobs.
//
// A helper process (minke storage-count) counts directories, and only while jobs wait. A directory is
// counted if its count is old or if a job that may have changed it has ended, but counting takes only a
// small part of the time. A hard limit applies at once; a soft limit applies after its grace time. The
// store keeps the counts, so that a grace time goes on after a restart. A directory without a count
// blocks nobody. State's thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/embedded/job_events.h"
#include "engine/quota_rule.h"
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
  // Explains why this user's jobs do not start, for users, with a command that tells more; empty: they may
  // start. The text begins with kQuotaExceeded.
  std::string problem(uint32_t uid, uint32_t gid);
  void job_ended(Job& job, bool ran) override;
  void configuration_changed();

 private:
  struct Count {
    QuotaUse use;
    int64_t time = 0;           // s; 0: never counted
    uint64_t milliseconds = 0;  // how long counting took
    bool changed = false;       // has probably changed since then
    bool asked = false;         // is being counted or will be soon
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
  void look_again();  // at all waiting jobs
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

bool held_by_quota(const Job& job);

}  // namespace minke::engine
