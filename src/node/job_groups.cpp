#include "node/job_groups.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "model/step_record.pb.h"
#include "node/launch.pb.h"

namespace minke::node {

namespace {

// A list for the kernel; empty if some node's processes are not bound.
std::string cpu_list(const std::vector<std::vector<uint32_t>>& cpus) {
  std::string list;
  for (const std::vector<uint32_t>& numbers : cpus) {
    if (numbers.empty()) return "";
    for (const uint32_t number : numbers) list += (list.empty() ? "" : ",") + std::to_string(number);
  }
  return list;
}

// Missing device files need no entry, because nobody can open them.
std::vector<dev_t> devices_of(const google::protobuf::RepeatedPtrField<std::string>& files) {
  std::vector<dev_t> devices;
  for (const std::string& file : files) {
    struct stat info {};
    if (::stat(file.c_str(), &info) == 0 && S_ISCHR(info.st_mode)) devices.push_back(info.st_rdev);
  }
  return devices;
}

}  // namespace

JobGroups::JobGroups(const std::string& name, bool shared) {
  auto found = ControlGroups::find(name, shared);
  if (!found) {
    problem_ = found.error().message;
    return;
  }
  if (auto prepared = found->prepare(); !prepared) {
    problem_ = prepared.error().message;
    return;
  }
  groups_ = std::move(*found);
  spares_.emplace(*groups_);
  stale_ = groups_->groups();
  remove_stale();
}

JobGroups::~JobGroups() {
  if (!groups_) return;
  spares_->remove_all();
  remove_stale();
  [[maybe_unused]] const Status removed = groups_->remove_all();  // stays if a job still has a group
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
  auto [at, is_new] = jobs_.try_emplace(job_name);
  Job& job = at->second;
  if (is_new) {
    const GroupLimits limits{order.job_memory_bytes(), order.job_pids(), cpu_list(job_cpus),
                             devices_of(order.hidden_devices())};
    if (const Status made = make(job_name, job, limits); !made) {
      jobs_.erase(at);
      return failure(made.error());
    }
  }
  Launch& launch = job.launches[name_of(key)];
  for (int i = 0; i < std::max(1, order.places_size()); ++i) {
    const std::string group = group_of(job, order, i);
    if (group != job.group) {
      [[maybe_unused]] const Status removed =
          groups_->remove(group);  // left by a launch that could not be started
      const uint64_t memory = i < order.places_size() ? order.places(i).memory_bytes() : 0;
      if (auto made = groups_->create(group, {memory, 0, "", {}}); !made) return failure(made.error());
    }
    if (job.spare && group == job.group) launch.oom_kills = job.spare->oom_kills;
    launch.groups.push_back(group);
    auto entry = open(job, group);
    if (!entry) return failure(entry.error());
    entries.push_back(std::move(*entry));
  }
  return entries;
}

Status JobGroups::make(const std::string& name, Job& job, const GroupLimits& limits) {
  job.spare = spares_->take(limits, stale_);
  job.group = job.spare ? job.spare->name : name;
  if (job.spare) return {};
  if (std::erase(stale_, name) > 0) {  // a lost run with this name
    [[maybe_unused]] const Status removed = groups_->remove(name);
  }
  return groups_->create(name, limits);
}

Result<GroupEntry> JobGroups::open(const Job& job, const std::string& group) const {
  if (!job.spare || group != job.group) return groups_->open(group);
  GroupEntry entry;
  for (const os::UniqueFd& file : job.spare->entry.files) {
    entry.files.emplace_back(::fcntl(file.get(), F_DUPFD_CLOEXEC, 3));
    if (!entry.files.back()) return failure_from_errno(group, errno);
  }
  return entry;
}

std::string JobGroups::group_of(const Job& job, const LaunchOrder& order, int place) const {
  const LaunchKey key = LaunchKey::of(order.id());
  const bool as_job =
      order.places_size() == 0 ||
      (order.places_size() == 1 && order.places(0).memory_bytes() == order.job_memory_bytes());
  if (groups_->version() == 1 && key.kind == model::STEP_BATCH && as_job) return job.group;
  return job.group + "/" + name_of(key) + "." + std::to_string(place);
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
  const Job& job = jobs_.at(name_of(key.job));
  uint64_t kills = 0;
  for (const std::string& group : launch->groups) {
    kills += job.spare && group == job.group ? SpareGroups::oom_kills(*job.spare) : groups_->oom_kills(group);
  }
  const uint64_t before = std::exchange(launch->oom_kills, kills);
  return kills > before ? static_cast<uint32_t>(kills - before) : 0;
}

std::vector<pid_t> JobGroups::processes(const JobKey& key) {
  const auto job = jobs_.find(name_of(key));
  return job == jobs_.end() ? std::vector<pid_t>() : groups_->processes(job->second.group);
}

std::vector<pid_t> JobGroups::processes(const LaunchKey& key) {
  std::vector<pid_t> all;
  const Launch* launch = find(key);
  if (launch == nullptr) return all;
  const std::string& of_job = jobs_.at(name_of(key.job)).group;
  for (const std::string& group : launch->groups) {
    for (const pid_t pid : groups_->processes(group, group != of_job)) all.push_back(pid);
  }
  return all;
}

bool JobGroups::end(const std::string& group, pid_t spared) {
  if (groups_->remove(group)) return true;  // usually it is empty
  groups_->kill(group, spared);
  return static_cast<bool>(groups_->remove(group));
}

bool JobGroups::end(Job& job, pid_t spared) {
  const auto is_own = [&](const std::string& group) { return group == job.group; };
  const bool undivided = std::ranges::all_of(
      job.launches, [&](const auto& launch) { return std::ranges::all_of(launch.second.groups, is_own); });
  if (!job.spare || !undivided || !SpareGroups::is_empty(*job.spare)) {
    job.spare.reset();
    return end(job.group, spared);
  }
  spares_->give_back(std::move(*job.spare));
  return true;
}

bool JobGroups::end(const JobKey& key, pid_t spared) {
  if (!groups_) return true;
  if (!stale_.empty()) remove_stale();
  const std::string name = name_of(key);
  const auto job = jobs_.find(name);
  if (job != jobs_.end()) {
    if (!end(job->second, spared)) return false;
    jobs_.erase(job);
  }
  // Remains of an earlier launcher's run with this name. A spare group's name does not tell whose it was.
  return std::ranges::none_of(
      stale_, [&](const std::string& group) { return group == name || SpareGroups::is_spare(group); });
}

bool JobGroups::end(const LaunchKey& key, pid_t spared) {
  const Launch* launch = find(key);
  if (launch == nullptr) return true;
  Job& job = jobs_.at(name_of(key.job));
  bool gone = true;
  bool divided = false;
  for (const std::string& group : launch->groups) {
    if (group == job.group) continue;  // removed with the job
    gone = end(group, spared) && gone;
    divided = true;
  }
  if (gone && divided) job.launches.erase(name_of(key));
  return gone;
}

void JobGroups::remove_stale() {
  std::erase_if(stale_, [this](const std::string& group) { return end(group, 0); });
}

}  // namespace minke::node
