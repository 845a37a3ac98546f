#include "node/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_set>

#include "base/result.h"
#include "node/raw_syscall.h"
#include "node/spawn_child.h"

namespace minke::node {
namespace {

constexpr size_t kStackBytes = 64 * 1024;  // the child needs one or two KiB; untouched pages cost nothing
constexpr size_t kMostFreeStacks = 64;
constexpr char kDefaultPath[] = "/usr/local/bin:/usr/bin:/bin";

constexpr struct {
  const char* name;
  int resource;
} kLimits[] = {
    {"CPU", RLIMIT_CPU},         {"FSIZE", RLIMIT_FSIZE}, {"DATA", RLIMIT_DATA},   {"STACK", RLIMIT_STACK},
    {"CORE", RLIMIT_CORE},       {"RSS", RLIMIT_RSS},     {"NPROC", RLIMIT_NPROC}, {"NOFILE", RLIMIT_NOFILE},
    {"MEMLOCK", RLIMIT_MEMLOCK}, {"AS", RLIMIT_AS},
};

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

// The environment's entries, each ended by NUL (the last one by the string's own).
template <typename Visitor>
void for_each_variable(const std::string& block, Visitor visit) {
  for (size_t at = 0; at < block.size();) {
    std::string_view variable(block.data() + at);
    if (!variable.empty()) visit(variable);
    at += variable.size() + 1;
  }
}

// One task's storage. Strings that the order holds are pointed to where they are.
struct TaskStart {
  ChildBlock block;
  std::vector<char*> argv;
  std::vector<char*> environment;
  std::string path_list;  // candidates, each ended by NUL
  std::vector<const char*> programs;
  char task_pid[sizeof "SLURM_TASK_PID=" + 11] = "SLURM_TASK_PID=";
  std::unique_ptr<char[]> stack;
  pid_t pid = 0;
};

void prepare_environment(TaskStart& task, const LaunchOrder& order, const TaskOrder& task_order,
                         const std::string& marker) {
  std::unordered_set<std::string_view> replaced = {name_of(task.task_pid), name_of(marker)};
  for (const std::string& variable : task_order.environment()) replaced.insert(name_of(variable));
  auto add = [&](const char* variable) { task.environment.push_back(const_cast<char*>(variable)); };
  for_each_variable(order.environment(), [&](std::string_view variable) {
    if (!replaced.contains(name_of(variable))) add(variable.data());
  });
  // The last of several entries of one name is the one that counts.
  std::unordered_set<std::string_view> seen = {name_of(task.task_pid), name_of(marker)};
  for (int i = task_order.environment_size() - 1; i >= 0; --i) {
    const std::string& variable = task_order.environment(i);
    if (seen.insert(name_of(variable)).second) add(variable.c_str());
  }
  add(task.task_pid);
  add(marker.c_str());
  task.environment.push_back(nullptr);
}

// Candidates in the order of PATH, as execvp tries them, and at last the working directory. Nothing is looked
// at here: that is the child's business.
void prepare_programs(TaskStart& task, const std::string& program, const std::string& work_dir) {
  if (program.empty() || program.find('/') != std::string::npos) {
    // "./a.out" is told the whole path, so that it finds itself from wherever it goes.
    task.path_list = program.starts_with('.') ? work_dir + "/" + program : program;
    task.programs = {task.path_list.c_str(), nullptr};
    return;
  }
  std::string_view path = kDefaultPath;
  for (const char* variable : task.environment) {
    if (variable != nullptr && std::strncmp(variable, "PATH=", 5) == 0) path = variable + 5;
  }
  std::vector<size_t> starts;
  for (size_t at = 0; at <= path.size();) {
    size_t end = std::min(path.find(':', at), path.size());
    starts.push_back(task.path_list.size());
    std::string_view directory = path.substr(at, end - at);
    task.path_list.append(directory.empty() ? "." : directory).append("/").append(program).push_back('\0');
    at = end + 1;
  }
  starts.push_back(task.path_list.size());
  task.path_list.append(work_dir).append("/").append(program).push_back('\0');
  for (size_t start : starts) task.programs.push_back(task.path_list.data() + start);
  task.programs.push_back(nullptr);
}

void prepare_stream(ChildStream& stream, const StreamOrder& order, int direction,
                    const std::vector<os::UniqueFd>& descriptors) {
  if (order.has_descriptor()) {
    MINKE_CHECK(order.descriptor() < descriptors.size());
    stream.descriptor = descriptors[order.descriptor()].get();
  } else if (!order.path().empty()) {
    stream.path = order.path().c_str();
    stream.flags = direction | O_CLOEXEC | O_NOCTTY;
    if (direction == O_WRONLY) stream.flags |= O_CREAT | O_APPEND | (order.append() ? 0 : O_TRUNC);
  }
}

void prepare_streams(ChildBlock& block, const TaskOrder& order,
                     const std::vector<os::UniqueFd>& descriptors) {
  prepare_stream(block.streams[0], order.stdin(), O_RDONLY, descriptors);
  prepare_stream(block.streams[1], order.stdout(), O_WRONLY, descriptors);
  const StreamOrder& out = order.stdout();
  const StreamOrder& err = order.stderr();
  bool same_file =
      !err.has_descriptor() && !out.has_descriptor() && !err.path().empty() && err.path() == out.path();
  if (err.same_as_stdout() || same_file) {
    block.streams[2].same_as_stdout = true;
  } else {
    prepare_stream(block.streams[2], err, O_WRONLY, descriptors);
  }
}

bool failed_before_execution(const ChildBlock& block) {
  return block.error != 0 && block.phase != static_cast<int>(StartPhase::kExecute);
}

// A file system that is mounted read-only is nobody's trouble but of who names a file there.
int error_number_of(const ChildBlock& block) {
  return block.phase == static_cast<int>(StartPhase::kStreams) && block.error == EROFS ? 0 : block.error;
}

std::string describe_failure(const ChildBlock& block) {
  std::string reason = std::strerror(block.error);
  if (block.phase == static_cast<int>(StartPhase::kDirectories))
    return "cannot have its own /tmp and /dev/shm: " + reason;
  if (block.phase == static_cast<int>(StartPhase::kIdentity)) return "cannot run as its user: " + reason;
  if (block.phase == static_cast<int>(StartPhase::kGroup)) return "cannot enter its control group: " + reason;
  if (block.phase == static_cast<int>(StartPhase::kNetwork)) return "cannot enter its network: " + reason;
  if (block.phase == static_cast<int>(StartPhase::kDirectory))
    return "couldn't chdir to /tmp either: " + reason;
  static constexpr const char* kStreamNames[] = {"stdin", "stdout", "stderr"};
  const char* path = block.streams[block.stream].path;
  return std::string("Could not open ") + kStreamNames[block.stream] + " file " +
         (path ? path : "(descriptor)") + ": " + reason;
}

Error failure_in(const ChildBlock& block) {
  return {error_number_of(block), describe_failure(block)};
}

}  // namespace

struct Spawner::Start {
  LaunchOrder order;
  std::string marker;
  std::vector<ChildLimit> limits;
  std::vector<gid_t> supplementary;  // groups of the order's identity
  std::vector<GroupEntry> groups;
  std::vector<Bind> bind_paths;
  std::vector<ChildBind> binds;  // of `bind_paths`
  os::UniqueFd network;
  std::vector<cpu_set_t> cpu_masks;           // by place
  std::vector<std::vector<int>> group_files;  // of `groups`
  std::vector<TaskStart> tasks;               // never resized once started

  void prepare_limits();
  void share_files();
  int start(TaskStart& task, uint32_t place);  // its pid, or the negated errno
};

void Spawner::Start::prepare_limits() {
  for (const auto& asked : order.resource_limits()) {
    for (const auto& known : kLimits) {
      if (asked.name() == known.name) limits.push_back({known.resource, asked.soft()});
    }
  }
}

// Tasks that write to one file: the first truncates it where that is asked for, the others append, and open
// it only after the one before them has.
void Spawner::Start::share_files() {
  std::unordered_map<std::string_view, size_t> opened;  // path -> task that opens it first
  for (size_t i = 0; i < tasks.size(); ++i) {
    for (int number = 1; number <= 2; ++number) {
      ChildStream& stream = tasks[i].block.streams[number];
      if (stream.path == nullptr) continue;
      auto [first, is_new] = opened.try_emplace(stream.path, i);
      if (is_new || first->second == i) continue;
      stream.flags = (stream.flags & ~O_TRUNC) | O_APPEND;
      for (int other = 1; other <= 2; ++other) {
        ChildStream& earlier = tasks[first->second].block.streams[other];
        if (earlier.path != nullptr && std::string_view(earlier.path) == stream.path)
          earlier.flags |= O_APPEND;
      }
      tasks[i].block.after = &tasks[i - 1].block.alive;
    }
  }
}

int Spawner::Start::start(TaskStart& task, uint32_t place) {
  constexpr int kFlags =
      CLONE_VM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | (kRawSyscalls ? 0 : CLONE_VFORK);
  auto* alive = const_cast<int*>(&task.block.alive);
  clone_args arguments{};
  arguments.flags = kFlags;
  arguments.exit_signal = SIGCHLD;
  arguments.parent_tid = arguments.child_tid = reinterpret_cast<uint64_t>(alive);
  arguments.stack = reinterpret_cast<uint64_t>(task.stack.get());
  arguments.stack_size = kStackBytes;
  const bool born_in_group = place < groups.size() && groups[place].directory;
  const auto write_itself_in = [&] {
    if (place >= groups.size()) return;
    task.block.group_files = group_files[place].data();
    task.block.group_file_count = group_files[place].size();
  };
  if (born_in_group) {  // to move there afterwards may take the kernel ten milliseconds
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<uint64_t>(groups[place].directory.get());
  } else {
    write_itself_in();
  }
  if (const long started = raw_clone3(&arguments, run_child, &task.block); started > 0)
    return static_cast<int>(started);
  // Kernels before 5.7 and some sandboxes do not have it.
  write_itself_in();
  const int pid = ::clone(run_child, task.stack.get() + kStackBytes, kFlags | SIGCHLD, &task.block, alive,
                          nullptr, alive);
  return pid < 0 ? -errno : pid;
}

Spawner::Spawner(std::string marker)
    : marker_(std::move(marker)), null_(::open("/dev/null", O_RDWR | O_CLOEXEC)) {
  MINKE_CHECK(null_.get() > 2);  // 0, 1 and 2 are open in a launcher
}

Spawner::~Spawner() {
  // Children that still share this memory must not see it go away: they are our own process's last concern.
  sweep();
  for (auto& start : starting_) {
    for (const TaskStart& task : start->tasks) {
      if (shares_memory(task.block)) ::kill(task.pid, SIGKILL);
    }
    for (const TaskStart& task : start->tasks) {
      while (shares_memory(task.block)) ::sched_yield();
    }
  }
}

std::vector<pid_t> Spawner::spawn(LaunchOrder launch_order, std::vector<os::UniqueFd> descriptors,
                                  Confinement confinement) {
  sweep();
  auto start = std::make_unique<Start>();
  const std::vector<std::vector<uint32_t>>& cpus = confinement.cpus;
  start->groups = std::move(confinement.groups);
  start->bind_paths = std::move(confinement.binds);
  if (confinement.network >= 0) start->network.reset(::fcntl(confinement.network, F_DUPFD_CLOEXEC, 3));
  for (const Bind& bind : start->bind_paths)
    start->binds.push_back({bind.source.c_str(), bind.target.c_str(), bind.read_only});
  for (const GroupEntry& group : start->groups) {
    std::vector<int>& files = start->group_files.emplace_back();
    for (const os::UniqueFd& file : group.files) files.push_back(file.get());
  }
  start->order = std::move(launch_order);
  const LaunchOrder& order = start->order;
  start->marker = marker_ + std::to_string(order.id().job_id()) + "." + std::to_string(order.id().run());
  start->prepare_limits();
  start->supplementary.assign(order.identity().groups().begin(), order.identity().groups().end());
  for (const std::vector<uint32_t>& numbers : cpus) {
    cpu_set_t& mask = start->cpu_masks.emplace_back();
    CPU_ZERO(&mask);
    for (const uint32_t number : numbers) CPU_SET(number, &mask);
  }
  start->tasks = std::vector<TaskStart>(order.tasks_size());
  for (int i = 0; i < order.tasks_size(); ++i) {
    TaskStart& task = start->tasks[i];
    const auto& argv = order.tasks(i).argv_size() > 0 ? order.tasks(i).argv() : order.argv();
    for (const std::string& argument : argv) task.argv.push_back(const_cast<char*>(argument.c_str()));
    task.argv.push_back(nullptr);
    prepare_environment(task, order, order.tasks(i), start->marker);
    prepare_programs(task, argv.Get(0), order.work_dir());
    prepare_streams(task.block, order.tasks(i), descriptors);
    task.block.parent = ::getpid();
    task.block.null = null_.get();
    task.block.work_dir = order.work_dir().c_str();
    task.block.umask = order.umask();
    if (const uint32_t place = order.tasks(i).place(); place < cpus.size() && !cpus[place].empty()) {
      task.block.cpu_mask = &start->cpu_masks[place];
      task.block.cpu_mask_bytes = sizeof(cpu_set_t);
    }
    task.block.network = start->network.get();
    if (const uint32_t place = order.tasks(i).place();
        confinement.host_names && static_cast<int>(place) < order.places_size() &&
        !order.places(static_cast<int>(place)).host_name().empty()) {
      const std::string& name = order.places(static_cast<int>(place)).host_name();
      task.block.host_name = name.data();
      task.block.host_name_length = name.size();
    }
    task.block.binds = start->binds.data();
    task.block.bind_count = start->binds.size();
    task.block.has_identity = order.has_identity();
    task.block.uid = order.identity().uid();
    task.block.gid = order.identity().gid();
    task.block.groups = start->supplementary.data();
    task.block.group_count = start->supplementary.size();
    task.block.controlling_terminal = order.controlling_terminal();
    task.block.limits = start->limits.data();
    task.block.limit_count = start->limits.size();
    task.block.pid_digits = task.task_pid + sizeof "SLURM_TASK_PID=" - 1;
    task.block.argv = task.argv.data();
    task.block.environment = task.environment.data();
    task.block.programs = task.programs.data();
    task.block.error_prefix = order.script_error_prefix().c_str();
  }
  start->share_files();

  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  std::vector<pid_t> pids;
  for (int i = 0; i < order.tasks_size(); ++i) {
    TaskStart& task = start->tasks[i];
    if (stacks_.empty()) {
      task.stack.reset(new char[kStackBytes]);
    } else {
      task.stack = std::move(stacks_.back());
      stacks_.pop_back();
    }
    const int pid = start->start(task, order.tasks(i).place());
    pids.push_back(pid);
    if (pid > 0) {
      task.pid = pid;
    } else {
      task.block.alive = 0;
    }
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  starting_.push_back(std::move(start));
  return pids;  // the children have copies of `descriptors`; ours close here
}

// Gives back what the children of a launch needed, once all of them have executed their program or ended.
void Spawner::sweep() {
  for (auto at = starting_.begin(); at != starting_.end();) {
    auto& tasks = (*at)->tasks;
    if (std::any_of(tasks.begin(), tasks.end(), [](const auto& task) { return shares_memory(task.block); })) {
      ++at;
      continue;
    }
    for (TaskStart& task : tasks) {
      if (task.pid != 0 && failed_before_execution(task.block))
        failures_[task.pid] = failure_in(task.block);
      if (stacks_.size() < kMostFreeStacks) stacks_.push_back(std::move(task.stack));
    }
    at = starting_.erase(at);
  }
}

bool Spawner::is_starting(pid_t pid) const {
  for (const auto& start : starting_) {
    for (const TaskStart& task : start->tasks) {
      if (task.pid == pid) return shares_memory(task.block);
    }
  }
  return false;
}

std::optional<Error> Spawner::failure_of(pid_t pid) {
  sweep();
  if (auto node = failures_.extract(pid); !node.empty()) return std::move(node.mapped());
  for (auto& start : starting_) {  // others of its launch are still on their way
    for (TaskStart& task : start->tasks) {
      if (task.pid != pid) continue;
      task.pid = 0;
      if (failed_before_execution(task.block)) return failure_in(task.block);
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace minke::node
