// Jobs of one user and name, for --dependency=singleton: which of them is the earliest that is still active,
// and who waits for those before it.
//
// The index is made when the first singleton comes, from all jobs there are, and kept up from then on; a
// cluster without singletons has none. An array counts as one job under its own number. What has ended is
// dropped when it is met. State's thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/embedded/state/job.h"

namespace minke::engine {

class State;

class Namesakes {
 public:
  explicit Namesakes(State& state) : state_(state) {}

  void add(const Job& job);  // any job; without effect until there is a singleton
  void add_singleton(const Job& job);
  void remove_singleton(const Job& job);
  // Whether another of its name that was submitted before is still active.
  bool blocked(const Job& singleton);
  // Who may start now that a job has ended: at most one, or those of one array.
  std::vector<uint32_t> released(const Job& job) { return released_of(key_of(job)); }
  // The same now that it is called otherwise than before.
  std::vector<uint32_t> renamed(const Job& job, std::string_view name_before);

 private:
  struct Group {
    std::set<uint32_t> jobs;     // numbers of jobs and arrays that were active when last looked at
    std::set<uint32_t> waiting;  // ids of singletons
  };
  static std::string key_of(const Job& job);
  std::vector<uint32_t> released_of(const std::string& key);
  static uint32_t number_of(const Job& job) { return job.array_job_id != 0 ? job.array_job_id : job.id; }
  bool is_active(uint32_t number, const std::string& key);
  // The lowest number that is active; 0: none.
  uint32_t earliest(Group& group, const std::string& key);

  State& state_;
  bool in_use_ = false;
  std::unordered_map<std::string, Group> groups_;  // by user and name
};

}  // namespace minke::engine
