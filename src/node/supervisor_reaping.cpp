// Reaps the launcher's children and clears jobs away.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "model/step_record.pb.h"
#include "model/usage.pb.h"
#include "node/append.h"
#include "node/journal.pb.h"
#include "node/launch.pb.h"
#include "node/process_usage.h"
#include "node/supervisor.h"
#include "node/tmp_dir.h"
#include "node/tmp_image.h"

namespace minke::node {
namespace {

constexpr std::chrono::milliseconds kLongestDelay{1000};
constexpr std::chrono::milliseconds kIdleBeforeTidying{1000};

int wait_status(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return (info.si_status & 0xff) << 8;
  return info.si_status | (info.si_code == CLD_DUMPED ? 0x80 : 0);
}

uint64_t microseconds(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_usec);
}

// `pid` must still be a zombie: /proc has its I/O in bytes, while its rusage has only disk blocks.
void fill_usage(pid_t pid, const rusage& from, model::Usage& usage) {
  usage.set_user_microseconds(microseconds(from.ru_utime));
  usage.set_system_microseconds(microseconds(from.ru_stime));
  usage.set_max_rss_kib(static_cast<uint64_t>(from.ru_maxrss));
  const ProcessUsage process = read_process_usage(pid);
  usage.set_read_bytes(process.read_bytes);
  usage.set_write_bytes(process.write_bytes);
  usage.set_major_faults(static_cast<uint64_t>(from.ru_majflt));
}

}  // namespace

void Supervisor::reap() {
  for (;;) {
    // Look first: while it is a zombie, its pid and its process group are not reused.
    siginfo_t info{};
    rusage usage{};
    long result = ::syscall(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT, &usage);
    if (result != 0 || info.si_pid == 0) break;
    pid_t pid = info.si_pid;
    auto root = roots_.find(pid);
    if (root != roots_.end()) root_exits(root->second, pid, wait_status(info), usage);
    siginfo_t reaped{};
    ::waitid(P_PID, static_cast<id_t>(pid), &reaped, WEXITED | WNOHANG);
    snapshot_.reset();
    if (root != roots_.end()) {
      Root gone = root->second;
      roots_.erase(root);
      root_reaped(gone);
      continue;
    }
    orphans_.erase(pid);
    if (const auto writer = writers_.extract(pid); !writer.empty()) --jobs_.at(writer.mapped()).writers;
    if (const auto helper = network_helpers_.extract(pid); !helper.empty()) {
      if (const auto network = helper.mapped().lock()) helper_ended(pid, *network);
    }
    if (auto removal = removals_.extract(pid); !removal.empty()) {
      Job& job = jobs_.at(removal.mapped());
      job.removal = 0;
      if (!remove_empty_tmp_dir(job.directories.back()) && options_.shared)
        log_line("something in " + job.directories.back() + " is not its owner's to remove");
      job.directories.pop_back();  // gone, or the process has logged why not
    }
    if (const auto aside = set_aside_.extract(pid); !aside.empty()) {
      if (!remove_empty_tmp_dir(aside.mapped()) && options_.shared)
        log_line("something in " + aside.mapped() + " is not its owner's to remove");
    }
  }
  if (!ending_.empty()) schedule_clearing();
}

void Supervisor::root_exits(const Root& root, pid_t pid, int status, const rusage& usage) {
  LaunchState& launch = *table_.find(root.launch);
  JournalRecord record_of_end;
  TaskEnded& ended = *record_of_end.mutable_task_ended();
  *ended.mutable_id() = launch.key.id();
  ended.set_position(root.position);
  TaskEnd& end = *ended.mutable_end();
  end.set_rank(launch.tasks[root.position].rank);
  end.set_status(status);
  end.set_end_time(std::time(nullptr));
  fill_usage(pid, usage, *end.mutable_usage());
  if (auto error = spawner_.failure_of(pid)) {
    end.set_error(error->message);
    end.set_error_number(static_cast<uint32_t>(error->code));
  }
  if (const uint32_t kills = groups_.new_oom_kills(launch.key); kills != 0) {
    end.set_oom_kills(kills);
    tell_oom_kills(launch, kills);
  }
  record(record_of_end);
  // The last task's end also kills the rest of its process group. Remains of other tasks are
  // found as children of the launcher.
  if (launch.ended()) ::kill(-pid, SIGKILL);
}

// Tells the user of a batch script, as in Slurm, before the job ends. For a step, its srun reports it.
void Supervisor::tell_oom_kills(const LaunchState& launch, uint32_t kills) {
  Job& job = jobs_.at(launch.key.job);
  if (launch.key.kind != model::STEP_BATCH || job.batch_stderr.empty()) return;
  const pid_t writer = append_in_child(job.identity ? &*job.identity : nullptr, job.batch_stderr,
                                       job.message_prefix + "Detected " + std::to_string(kills) +
                                           " oom_kill " + (kills == 1 ? "event" : "events") +
                                           " in StepId=" + std::to_string(launch.key.job.job_id) +
                                           ".batch. Some of the step tasks have been OOM Killed.\n");
  if (writer < 0) return;
  writers_[writer] = job.key;
  ++job.writers;
}

void Supervisor::root_reaped(const Root& root) {
  LaunchState& launch = *table_.find(root.launch);
  --jobs_.at(root.launch.job).live_roots;
  if (sink_ && launch.tasks.size() > 1) {
    LauncherMessage message;
    *message.mutable_task_ended()->mutable_id() = launch.key.id();
    *message.mutable_task_ended()->add_ended_tasks() = *launch.tasks[root.position].end;
    sink_(message);
  }
  if (launch.ended()) launch_ended(launch);
}

void Supervisor::begin_end(Job& job) {
  if (!job.ending) {
    job.ending = true;
    ending_.insert(job.key);
    for (const LaunchState* launch : table_.launches_of(job.key)) {
      for (pid_t root : live_roots(*launch)) signal_group(root, SIGKILL);
    }
  }
  schedule_clearing();
}

void Supervisor::schedule_clearing() {
  if (clearing_scheduled_) return;
  clearing_scheduled_ = true;
  loop_.defer([this] { clear_jobs(); });
}

void Supervisor::clear_jobs() {
  clearing_scheduled_ = false;
  if (ending_.empty()) return;
  snapshot_.reset();
  std::vector<pid_t> orphans = read_orphans(first_pid_worth_reading());
  bool undecided = false;
  auto survivors = survivors_of_earlier_launcher(undecided);
  bool look_again = false;
  for (const JobKey& key : std::vector<JobKey>(ending_.begin(), ending_.end())) {
    Job& job = jobs_.at(key);
    bool left = processes_left(job, orphans);
    if (job.of_earlier_launcher) {
      left = left || undecided;
      for (pid_t pid : survivors[key]) left = ::kill(pid, SIGKILL) == 0 || left;
    }
    if (!left && remove_directories_of(job)) {
      finish(job);
    } else if (left || job.removal == 0) {  // 0: no process could be forked for the removal
      look_again = true;
    }
  }
  snapshot_.reset();
  if (look_again) {
    delay_ = std::clamp(delay_ * 2, std::chrono::milliseconds(1), kLongestDelay);
    timer_->set_after(delay_);
  } else {
    delay_ = std::chrono::milliseconds(0);
    timer_->cancel();
  }
}

// Kills the processes of an ending job; true if there were any.
bool Supervisor::processes_left(Job& job, const std::vector<pid_t>& orphans) {
  bool undecided = std::any_of(orphans.begin(), orphans.end(),
                               [this](pid_t orphan) { return classify(orphan).owner == Orphan::kUndecided; });
  const bool in_groups = !groups_.end(job.key, daemon_);
  return kill_orphans(job, orphans) || in_groups || job.live_roots > 0 || job.writers > 0 || undecided;
}

// True if it found a process that it could kill.
bool Supervisor::kill_orphans(const Job& job, const std::vector<pid_t>& orphans) {
  std::vector<pid_t> tops;
  for (pid_t orphan : orphans) {
    if (is_of(job, orphan, true)) tops.push_back(orphan);
  }
  if (tops.empty()) return false;
  bool killed = false;
  for (const Process& process : descendants(snapshot(), tops)) {
    if (process.pid != daemon_) ::kill(process.pid, SIGKILL);
  }
  for (pid_t orphan : tops) {
    if (::kill(orphan, SIGKILL) == 0) {
      killed = true;
    } else if (errno == EPERM) {
      log_line("process " + std::to_string(orphan) + " of job " + std::to_string(job.key.job_id) +
               " runs as another user and cannot be killed");
      orphans_[orphan].owner = Orphan::kNobodys;
    }
  }
  return killed;
}

// Kills what a step's tasks left in their sessions.
void Supervisor::kill_rest_of(const LaunchState& launch) {
  groups_.end(launch.key, daemon_);  // the rest is killed with the job
  std::vector<pid_t> tops;
  for (pid_t orphan : read_orphans(first_pid_worth_reading())) {
    const Orphan& known = classify(orphan);
    if (known.owner != Orphan::kOfJob || known.job != launch.key.job) continue;
    for (const auto& task : launch.tasks) {
      if (task.pid == known.session) tops.push_back(orphan);
    }
  }
  if (tops.empty()) return;
  for (const Process& process : descendants(snapshot(), tops)) {
    if (process.pid != daemon_) ::kill(process.pid, SIGKILL);
  }
  for (pid_t orphan : tops) ::kill(orphan, SIGKILL);
}

// True when they are gone.
bool Supervisor::remove_directories_of(Job& job) {
  if (job.removal != 0) return false;
  if (!job.tmp_dir.empty()) {  // the first time
    if (options_.shared) job.directories = private_directories(job);
    job.directories.push_back(std::exchange(job.tmp_dir, ""));
  }
  while (!job.directories.empty()) {
    const std::string& directory = job.directories.back();
    if (!(options_.shared && has_tmp_image(directory)) && tmp_dirs_.remove_if_empty(directory)) {
      job.directories.pop_back();
      continue;
    }
    const bool image = options_.shared && has_tmp_image(directory);
    if (!image && set_aside(directory)) {
      job.directories.pop_back();
      continue;
    }
    const pid_t pid = fork_tmp_dir_removal(directory);
    if (pid < 0) return false;
    job.removal = pid;
    removals_[pid] = job.key;
    return false;
  }
  return true;
}

// Renames a directory with many files in one step; a child process empties it later. If the launcher is
// killed meanwhile, the next one finds the directory by its name.
bool Supervisor::set_aside(const std::string& directory) {
  static unsigned count = 0;
  const size_t slash = directory.rfind('/');
  if (slash == std::string::npos) return false;
  const std::string aside = directory.substr(0, slash + 1) + kSetAside + directory.substr(slash + 1) + "." +
                            std::to_string(::getpid()) + "." + std::to_string(count++);
  if (::renameat2(AT_FDCWD, directory.c_str(), AT_FDCWD, aside.c_str(), RENAME_NOREPLACE) != 0) return false;
  remove_set_aside(aside);
  return true;
}

void Supervisor::remove_set_aside(const std::string& path) {
  const pid_t pid = fork_tmp_dir_removal(path, true);
  if (pid > 0) {
    set_aside_[pid] = path;
  } else {
    log_line(path + " is left: no process to remove it");
  }
}

void Supervisor::sweep(const std::string& parent) {
  if (!swept_.insert(parent).second) return;
  DIR* stream = ::opendir(parent.c_str());
  if (stream == nullptr) return;
  while (const dirent* entry = ::readdir(stream))
    if (std::string_view(entry->d_name).starts_with(kSetAside))
      remove_set_aside(parent + "/" + entry->d_name);
  ::closedir(stream);
}

void Supervisor::finish(Job& job) {
  for (const LaunchKey& key : job.ended) {
    LaunchState* launch = table_.find(key);
    if (launch == nullptr) continue;
    if (!launch->ended()) {
      JournalRecord lost;
      *lost.mutable_lost()->mutable_id() = key.id();
      lost.mutable_lost()->set_end_time(std::time(nullptr));
      record(lost);
    }
    launch->announced = true;
    tell_ended(*launch);
  }
  if (job.asked_to_end && sink_) {
    LauncherMessage message;
    message.mutable_job_ended()->set_job_id(job.key.job_id);
    message.mutable_job_ended()->set_run(job.key.run);
    sink_(message);
  }
  for (pid_t session : job.sessions) {
    auto found = sessions_.find(session);
    if (found != sessions_.end() && found->second == job.key) sessions_.erase(found);
  }
  for (const std::vector<uint32_t>& cpus : job.cpus) cpus_.give_back(cpus);
  leave_network(job);
  ending_.erase(job.key);
  jobs_.erase(job.key);
  if (jobs_.empty() && !tmp_dirs_.empty()) idle_timer_->set_after(kIdleBeforeTidying);
}

}  // namespace minke::node
