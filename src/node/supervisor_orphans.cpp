// Finds the owners of processes: the launcher's orphans, and what an earlier launcher left.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "node/launcher.h"
#include "node/supervisor.h"

namespace minke::node {

// For reading children on kernels without a child list: remains of a young job
// have pids above its first one.
pid_t Supervisor::first_pid_worth_reading() const {
  if (child_list_.kernel_has_list()) return 0;
  pid_t first = 0;
  auto now = std::chrono::steady_clock::now();
  for (const auto& [key, job] : jobs_) {
    if (now - job.start > std::chrono::milliseconds(900)) return 0;
    if (job.sessions.empty()) continue;
    // Wrapped pids make the span negative or wide; then all processes are read.
    first = first == 0 ? job.sessions.front() : std::min(first, job.sessions.front());
  }
  return first;
}

std::vector<pid_t> Supervisor::read_orphans(pid_t since) {
  std::vector<pid_t> children = child_list_.read(since);
  std::erase_if(children, [this](pid_t pid) {
    return pid == daemon_ || roots_.contains(pid) || removals_.contains(pid) || set_aside_.contains(pid) ||
           network_helpers_.contains(pid);
  });
  return children;
}

const Supervisor::Orphan& Supervisor::classify(pid_t pid) {
  Orphan& orphan = orphans_[pid];
  if (orphan.owner != Orphan::kUndecided) return orphan;
  bool undecided = false;
  orphan.session = ::getsid(pid);
  auto session = sessions_.find(orphan.session);
  if (session == sessions_.end() && runs_this_program(pid)) {
    orphan.owner = Orphan::kNobodys;  // a daemon that a command in a job started
  } else if (auto job = marked_job(pid, undecided)) {
    orphan.owner = Orphan::kOfJob;
    orphan.job = *job;
  } else if (session != sessions_.end()) {
    orphan.owner = Orphan::kOfJob;
    orphan.job = session->second;
  } else if (!undecided) {
    orphan.owner = Orphan::kUnmarked;
  }
  return orphan;
}

// `guess`: if there is only one job, a daemonised process without the marker belongs to it.
bool Supervisor::is_of(const Job& job, pid_t pid, bool guess) {
  const Orphan& orphan = classify(pid);
  if (orphan.owner == Orphan::kOfJob) return orphan.job == job.key;
  return orphan.owner == Orphan::kUnmarked && guess && jobs_.size() == 1;
}

bool Supervisor::is_in_job(pid_t pid) {
  bool undecided = false;
  if (sessions_.contains(::getsid(pid)) || marked_job(pid, undecided)) return true;
  constexpr int kDeepest = 1000;
  std::optional<Process> process = read_process(pid);
  for (int i = 0; i < kDeepest && process && process->pid > 1; ++i) {
    if (roots_.contains(process->pid)) return true;
    if (process->parent == ::getpid()) return classify(process->pid).owner == Orphan::kOfJob;
    process = read_process(process->parent);
  }
  return false;
}

const std::vector<Process>& Supervisor::snapshot() {
  if (!snapshot_) {
    snapshot_ = read_all_processes();
    loop_.defer([this] { snapshot_.reset(); });
  }
  return *snapshot_;
}

// The run of a job of this home in which the process was started.
std::optional<JobKey> Supervisor::marked_job(pid_t pid, bool& undecided) const {
  auto marker = initial_variable(pid, kLaunchMarker, &undecided);
  std::string prefix = options_.home_id + "/";
  if (!marker || !marker->starts_with(prefix)) return std::nullopt;
  const char* at = marker->data() + prefix.size();
  const char* end = marker->data() + marker->size();
  JobKey key;
  auto [dot, bad_id] = std::from_chars(at, end, key.job_id);
  if (bad_id != std::errc() || dot == end || *dot != '.') return std::nullopt;
  auto [rest, bad_run] = std::from_chars(dot + 1, end, key.run);
  if (bad_run != std::errc() || rest != end) return std::nullopt;
  return key;
}

// Processes that jobs of an earlier launcher have left. They are not children of this launcher, so they are
// found by their marker or, without their environment, by their session.
std::map<JobKey, std::vector<pid_t>> Supervisor::survivors_of_earlier_launcher(bool& undecided) {
  std::map<JobKey, std::vector<pid_t>> survivors;
  bool wanted = std::any_of(ending_.begin(), ending_.end(),
                            [this](const JobKey& key) { return jobs_.at(key).of_earlier_launcher; });
  if (!wanted) return survivors;
  struct Session {
    JobKey job;
    uint64_t first_ticks;
    uint64_t last_ticks;
  };
  std::unordered_map<pid_t, Session> sessions;
  for (const auto& [key, launch] : table_.all()) {
    auto job = jobs_.find(key.job);
    if (job == jobs_.end() || !job->second.of_earlier_launcher) continue;
    for (const auto& task : launch.tasks) {
      if (task.pid != 0) sessions[task.pid] = {key.job, launch.launching_ticks, launch.running_ticks};
    }
  }
  const std::vector<Process>& processes = snapshot();
  // If the leader of a session is of another time, the session now belongs to somebody else.
  for (const Process& process : processes) {
    auto own = sessions.find(process.pid);
    if (own == sessions.end()) continue;
    if (process.start_ticks + 1 < own->second.first_ticks ||
        process.start_ticks > own->second.last_ticks + 1) {
      sessions.erase(own);
    }
  }
  for (const Process& process : processes) {
    if (process.state == 'Z' || process.state == 'X') continue;
    if (process.pid == ::getpid() || process.pid == daemon_) continue;
    auto session = sessions.find(process.session);
    if (session != sessions.end() && process.start_ticks + 1 >= session->second.first_ticks) {
      survivors[session->second.job].push_back(process.pid);
    } else if (auto job = marked_job(process.pid, undecided); job && !runs_this_program(process.pid)) {
      survivors[*job].push_back(process.pid);
    }
  }
  return survivors;
}

// After a start: clears away launches that had not ended under the earlier launcher; reports them as lost.
void Supervisor::recover(bool same_boot) {
  for (auto& [key, launch] : table_.all()) {
    if (launch.ended() && !launch.ends_job) {
      launch.announced = true;
      continue;
    }
    auto [at, is_new] = jobs_.try_emplace(key.job);
    Job& job = at->second;
    if (is_new) {
      job.key = key.job;
      job.start = std::chrono::steady_clock::now();
      job.ending = true;
      job.of_earlier_launcher = same_boot;
      ending_.insert(key.job);
    }
    if (job.tmp_dir.empty() && launch.launch_error.empty()) job.tmp_dir = launch.tmp_dir;
    job.ended.push_back(key);
  }
  if (!ending_.empty()) schedule_clearing();
}

}  // namespace minke::node
