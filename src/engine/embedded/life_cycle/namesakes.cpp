#include "engine/embedded/life_cycle/namesakes.h"

#include <algorithm>

#include "engine/embedded/state/state.h"
#include "model/job_state.pb.h"

namespace minke::engine {

std::string Namesakes::key_of(const Job& job) {
  return std::to_string(job.uid) + "/" + std::string(job.submission->brief_spec().name);
}

void Namesakes::add(const Job& job) {
  if (!in_use_ || job.ended()) return;
  groups_[key_of(job)].jobs.insert(number_of(job));
}

void Namesakes::add_singleton(const Job& job) {
  if (!in_use_) {
    in_use_ = true;
    for (const auto& [id, one] : state_.jobs()) add(*one);
  }
  add(job);
  groups_[key_of(job)].waiting.insert(job.id);
}

void Namesakes::remove_singleton(const Job& job) {
  const auto found = groups_.find(key_of(job));
  if (found == groups_.end()) return;
  found->second.waiting.erase(job.id);
  if (found->second.waiting.empty() && found->second.jobs.empty()) groups_.erase(found);
}

bool Namesakes::is_active(uint32_t number, const std::string& key) {
  const auto active = [](const Job* job) { return job != nullptr && (!job->ended() || job->completing); };
  if (const ArrayGroup* group = state_.find_array(number)) {
    return std::any_of(group->jobs.begin(), group->jobs.end(),
                       [&](uint32_t id) { return active(state_.find(id)); });
  }
  const Job* job = state_.find(number);
  return active(job) && key_of(*job) == key;
}

uint32_t Namesakes::earliest(Group& group, const std::string& key) {
  while (!group.jobs.empty()) {
    if (is_active(*group.jobs.begin(), key)) return *group.jobs.begin();
    group.jobs.erase(group.jobs.begin());
  }
  return 0;
}

bool Namesakes::blocked(const Job& singleton) {
  if (!in_use_) add_singleton(singleton);
  const std::string key = key_of(singleton);
  const auto found = groups_.find(key);
  if (found == groups_.end()) return false;
  const uint32_t first = earliest(found->second, key);
  return first != 0 && first < number_of(singleton);
}

std::vector<uint32_t> Namesakes::renamed(const Job& job, std::string_view name_before) {
  const std::string key = std::to_string(job.uid) + "/" + std::string(name_before);
  const auto found = groups_.find(key);
  if (found == groups_.end()) return {};
  if (found->second.waiting.erase(job.id) != 0) add_singleton(job);
  add(job);
  return released_of(key);
}

std::vector<uint32_t> Namesakes::released_of(const std::string& key) {
  std::vector<uint32_t> released;
  const auto found = groups_.find(key);
  if (found == groups_.end()) return released;
  Group& group = found->second;
  const uint32_t first = earliest(group, key);
  // Those with the lowest number of all waiting ones, unless an earlier job is still active.
  uint32_t number = 0;
  for (auto waiting = group.waiting.begin(); waiting != group.waiting.end();) {
    const Job* singleton = state_.find(*waiting);
    if (singleton == nullptr || singleton->state != model::JOB_PENDING || key_of(*singleton) != key) {
      waiting = group.waiting.erase(waiting);
      continue;
    }
    const uint32_t own = number_of(*singleton);
    if ((first != 0 && first < own) || (number != 0 && own != number)) break;
    number = own;
    released.push_back(singleton->id);
    ++waiting;
  }
  if (group.waiting.empty() && group.jobs.empty()) groups_.erase(found);
  return released;
}

}  // namespace minke::engine
