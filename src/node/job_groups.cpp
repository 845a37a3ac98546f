#include "node/job_groups.h"

#include <algorithm>

namespace minke::node {

namespace {

// As the kernel reads lists; empty where some node's processes are not bound.
std::string cpu_list(const std::vector<std::vector<uint32_t>>& cpus) {
  std::string list;
  for (const std::vector<uint32_t>& numbers : cpus) {
    if (numbers.empty()) return "";
    for (const uint32_t number : numbers) list += (list.empty() ? "" : ",") + std::to_string(number);
  }
  return list;
}

}  // namespace

JobGroups::JobGroups(const std::string& name, bool with_cpus) {
  auto found = ControlGroups::find(name, with_cpus);
  if (!found) {
    problem_ = found.error().message;
    return;
  }
  if (auto prepared = found->prepare(); !prepared) {
    problem_ = prepared.error().message;
    return;
  }
  groups_ = std::move(*found);
  stale_ = groups_->groups();
  remove_stale();
}

JobGroups::~JobGroups() {
  if (!groups_) return;
  remove_stale();
  [[maybe_unused]] const Status removed = groups_->remove_all();  // where some job still has one, it stays
}

std::string JobGroups::name_of(const JobKey& job) {
  return "job_" + std::to_string(job.job_id) + "." + std::to_string(job.run);
}

std::string JobGroups::name_of(const LaunchKey& launch) {
  if (launch.kind == model::STEP_BATCH) return "batch";
  return "step_" + std::to_string(launch.step_id);
}

Result<std::vector<GroupEntry>> JobGroups::make(const LaunchOrder& order,
                                                const std::vector<std::vector<uint32_t>>& job_cpus) {
  std::vector<GroupEntry> entries;
  if (!groups_) return entries;
  const LaunchKey key = LaunchKey::of(order.id());
  const std::string job_name = name_of(key.job);
  auto [job, is_new] = jobs_.try_emplace(job_name);
  if (is_new) {
    std::erase(stale_, job_name);
    [[maybe_unused]] const Status removed = groups_->remove(job_name);  // a run of this name that was lost
    const auto made =
        groups_->create(job_name, {order.job_memory_bytes(), order.job_pids(), cpu_list(job_cpus)});
    if (!made) {
      jobs_.erase(job);
      return failure(made.error());
    }
  }
  Launch& launch = job->second.launches[name_of(key)];
  for (int i = 0; i < std::max(1, order.places_size()); ++i) {
    const std::string group = group_of(order, i);
    if (group != job_name) {
      [[maybe_unused]] const Status removed =
          groups_->remove(group);  // of one that could not be started before
      const uint64_t memory = i < order.places_size() ? order.places(i).memory_bytes() : 0;
      if (auto made = groups_->create(group, {memory, 0, ""}); !made) return failure(made.error());
    }
    launch.groups.push_back(group);
    auto entry = groups_->open(group);
    if (!entry) return failure(entry.error());
    entries.push_back(std::move(*entry));
  }
  return entries;
}

std::string JobGroups::group_of(const LaunchOrder& order, int place) const {
  const LaunchKey key = LaunchKey::of(order.id());
  const bool as_job =
      order.places_size() == 0 ||
      (order.places_size() == 1 && order.places(0).memory_bytes() == order.job_memory_bytes());
  if (groups_->version() == 1 && key.kind == model::STEP_BATCH && as_job) return name_of(key.job);
  return name_of(key.job) + "/" + name_of(key) + "." + std::to_string(place);
}

JobGroups::Launch* JobGroups::find(const LaunchKey& key) {
  const auto job = jobs_.find(name_of(key.job));
  if (job == jobs_.end()) return nullptr;
  const auto launch = job->second.launches.find(name_of(key));
  return launch == job->second.launches.end() ? nullptr : &launch->second;
}

uint32_t JobGroups::new_oom_kills(const LaunchKey& key) {
  Launch* launch = find(key);
  if (launch == nullptr) return 0;
  uint64_t kills = 0;
  for (const std::string& group : launch->groups) kills += groups_->oom_kills(group);
  const uint64_t before = std::exchange(launch->oom_kills, kills);
  return kills > before ? static_cast<uint32_t>(kills - before) : 0;
}

std::vector<pid_t> JobGroups::processes(const JobKey& job) {
  if (!has(job)) return {};
  return groups_->processes(name_of(job));
}

std::vector<pid_t> JobGroups::processes(const LaunchKey& key) {
  std::vector<pid_t> all;
  const Launch* launch = find(key);
  if (launch == nullptr) return all;
  for (const std::string& group : launch->groups) {
    for (const pid_t pid : groups_->processes(group, group != name_of(key.job))) all.push_back(pid);
  }
  return all;
}

bool JobGroups::end(const std::string& group, pid_t spared) {
  if (groups_->remove(group)) return true;  // nothing in it, usually
  groups_->kill(group, spared);
  return static_cast<bool>(groups_->remove(group));
}

bool JobGroups::end(const JobKey& job, pid_t spared) {
  if (!groups_) return true;
  if (!stale_.empty()) remove_stale();
  const std::string name = name_of(job);
  if (!end(name, spared)) return false;
  jobs_.erase(name);
  std::erase(stale_, name);
  return true;
}

bool JobGroups::end(const LaunchKey& key, pid_t spared) {
  const Launch* launch = find(key);
  if (launch == nullptr) return true;
  bool gone = true;
  for (const std::string& group : launch->groups) {
    if (group != name_of(key.job)) gone = end(group, spared) && gone;  // the job's own goes with the job
  }
  if (gone) jobs_.at(name_of(key.job)).launches.erase(name_of(key));
  return gone;
}

void JobGroups::remove_stale() {
  std::erase_if(stale_, [this](const std::string& group) { return end(group, 0); });
}

}  // namespace minke::node
