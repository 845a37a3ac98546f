// Signals to the processes of a job, and messages on its standard error.
#include "node/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "model/step_record.pb.h"
#include "node/append.h"
#include "node/launch.pb.h"
#include "node/launcher.h"

namespace minke::node {

namespace {

constexpr std::chrono::milliseconds kNextLookAtStart{2};

// Whether a signal is for this launch of the job.
bool is_target(const SignalOrder& order, const LaunchKey& key) {
  switch (order.target()) {
    case SignalOrder::STEPS:
      return key.kind != model::STEP_BATCH;
    case SignalOrder::BATCH_SHELL:
    case SignalOrder::BATCH_SESSION:
      return key.kind == model::STEP_BATCH;
    case SignalOrder::ONE_STEP:
      return key.kind == model::STEP_NORMAL && key.step_id == order.step_id();
    default:
      return true;
  }
}

// Writes through the process's own descriptor, which finds the file even after a rename, with the rights of
// the process's user. A full pipe, or one without a reader, is skipped.
void append_to_stderr(const std::optional<Identity>& identity, pid_t pid, const std::string& message) {
  if (identity) return append_in_child_to_stderr_of(pid, *identity, message);
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/2";
  os::UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file) return;
  [[maybe_unused]] const ssize_t written = ::write(file.get(), message.data(), message.size());
}

}  // namespace

// A child that has not executed its program yet would die of the signal before it has opened the file for the
// message, and before it could handle the signal. It gets half a second.
void Supervisor::signal(SignalOrder order) {
  constexpr std::chrono::milliseconds kTimeToStart{500};
  const JobKey job{order.job_id(), order.run()};
  const bool waits =
      std::ranges::any_of(early_signals_, [&](const EarlySignal& earlier) { return earlier.job == job; });
  if (!waits && !is_starting(job)) return deliver(order);
  early_signals_.push_back({job, std::move(order), std::chrono::steady_clock::now() + kTimeToStart});
  early_timer_->set_after(kNextLookAtStart);
}

void Supervisor::deliver_early_signals() {
  const auto now = std::chrono::steady_clock::now();
  for (EarlySignal& early : std::exchange(early_signals_, {})) {
    // Signals to one job keep their order.
    const bool waits = std::ranges::any_of(
        early_signals_, [&](const EarlySignal& earlier) { return earlier.job == early.job; });
    if (waits || (now < early.deadline && is_starting(early.job))) {
      early_signals_.push_back(std::move(early));
    } else {
      deliver(early.order);
    }
  }
  if (!early_signals_.empty()) early_timer_->set_after(kNextLookAtStart);
}

bool Supervisor::is_starting(const JobKey& job) {
  for (const LaunchState* launch : table_.launches_of(job)) {
    if (std::ranges::any_of(live_roots(*launch), [&](pid_t root) { return spawner_.is_starting(root); }))
      return true;
  }
  return false;
}

namespace {

// The task processes that the order is for.
std::set<pid_t> tasks_of(const SignalOrder& order, const LaunchState& launch) {
  std::set<pid_t> meant;
  for (const auto& task : launch.tasks) {
    if (order.ranks().empty() || std::ranges::find(order.ranks(), task.rank) != order.ranks().end())
      meant.insert(task.pid);
  }
  return meant;
}

}  // namespace

void Supervisor::deliver(const SignalOrder& order) {
  auto job = jobs_.find({order.job_id(), order.run()});
  if (job == jobs_.end()) return;
  int number = static_cast<int>(order.signal());
  std::vector<pid_t> roots;
  std::set<pid_t> sessions;
  for (const LaunchState* launch : table_.launches_of(job->first)) {
    if (!is_target(order, launch->key)) continue;
    std::set<pid_t> meant = tasks_of(order, *launch);
    for (pid_t root : live_roots(*launch))
      if (meant.contains(root)) roots.push_back(root);
    sessions.merge(meant);
  }
  if (!order.message().empty()) {
    for (pid_t root : roots) append_to_stderr(job->second.identity, root, order.message());
  }
  if (order.target() == SignalOrder::BATCH_SHELL) {
    for (pid_t root : roots) ::kill(root, number);
    return;
  }
  // A stopped process may have started others just before. Repeats until there are no more.
  std::set<pid_t> signalled;
  do {
    const std::vector<pid_t> others = others_to_signal(order, job->second, roots, sessions);
    for (pid_t root : roots) {
      if (signalled.empty()) signal_group(root, number);
    }
    bool any_new = signalled.empty() && !roots.empty();
    signalled.insert(roots.begin(), roots.end());
    for (pid_t other : others) {
      if (other == daemon_ || !signalled.insert(other).second) continue;
      ::kill(other, number);
      any_new = true;
    }
    if (!any_new) break;
  } while (number == SIGSTOP);
}

std::vector<pid_t> Supervisor::others_in_groups(const SignalOrder& order, const Job& job) {
  if (order.target() == SignalOrder::ALL) return groups_.processes(job.key);
  std::vector<pid_t> all;
  for (const auto& [key, launch] : table_.all()) {
    if (key.job != job.key || !is_target(order, key)) continue;
    for (const pid_t pid : groups_.processes(key)) all.push_back(pid);
  }
  return all;
}

std::vector<pid_t> Supervisor::others_to_signal(const SignalOrder& order, const Job& job,
                                                const std::vector<pid_t>& roots,
                                                const std::set<pid_t>& sessions) {
  // Collect before sending: a signal may end processes, and their children then get other parents.
  std::vector<pid_t> others;
  if (order.target() == SignalOrder::BATCH_SESSION) return others;
  // Processes in a task's own group get the signal with the task. A stopped one may have started more since.
  const auto in_group = [&](pid_t group) {
    return order.signal() != SIGSTOP && std::find(roots.begin(), roots.end(), group) != roots.end();
  };
  // A launch's group has all of its tasks.
  if (groups_.has(job.key) && order.ranks().empty()) {
    for (const pid_t pid : others_in_groups(order, job)) {
      if (!roots_.contains(pid) && !in_group(::getpgid(pid))) others.push_back(pid);
    }
    return others;
  }
  std::vector<pid_t> tops = roots;
  for (pid_t orphan : read_orphans()) {
    bool wanted = order.target() == SignalOrder::ALL ? is_of(job, orphan, false)
                                                     : sessions.contains(classify(orphan).session);
    if (!wanted) continue;
    tops.push_back(orphan);
    if (!in_group(::getpgid(orphan))) others.push_back(orphan);
  }
  for (const Process& process :
       descendants(order.signal() == SIGSTOP ? read_all_processes() : snapshot(), tops)) {
    if (!in_group(process.group)) others.push_back(process.pid);
  }
  return others;
}

}  // namespace minke::node
