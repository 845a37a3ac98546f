// Namesakes: jobs with the same user and name, for --dependency=singleton: which of them is the earliest
// active one, and which jobs wait for earlier ones.
//
// The index is built from all jobs when the first singleton comes, and is kept up to date from then on. A
// cluster without singletons has no index. An array counts as one job with its own number. Jobs that have
// ended are dropped when they are found. State's thread.
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

  void add(const Job& job);  // any job; does nothing until there is a singleton
  void add_singleton(const Job& job);
  void remove_singleton(const Job& job);
  // Whether an earlier job with its name is still active.
  bool blocked(const Job& singleton);
  // The singletons that may start now that `job` has ended: at most one job, or the tasks of one array.
  std::vector<uint32_t> released(const Job& job) { return released_of(key_of(job)); }
  // The same after a change of the job's name.
  std::vector<uint32_t> renamed(const Job& job, std::string_view name_before);

 private:
  struct Group {
    std::set<uint32_t> jobs;     // numbers of jobs and arrays that were active at the last look
    std::set<uint32_t> waiting;  // ids of singletons
  };
  static std::string key_of(const Job& job);
  std::vector<uint32_t> released_of(const std::string& key);
  static uint32_t number_of(const Job& job) { return job.array_job_id != 0 ? job.array_job_id : job.id; }
  bool is_active(uint32_t number, const std::string& key);
  // The lowest active number; 0: none.
  uint32_t earliest(Group& group, const std::string& key);

  State& state_;
  bool in_use_ = false;
  std::unordered_map<std::string, Group> groups_;  // by user and name
};

}  // namespace minke::engine
