#include "node/control_groups.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "node/device_filter.h"

namespace minke::node {
namespace {

constexpr const char* kUsed[] = {"cpuset", "memory", "pids"};
constexpr char kPrefix[] = "/minke+";   // no unit of systemd's can have a + in its name
constexpr char kDevices[] = "devices";  // of version 1; made only for groups that need it
// Processes of a delegated group go there, so that the group can give its controllers to others.
constexpr char kServiceLeaf[] = "/service";

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Writes with one write(2), as the kernel expects for a value. Never creates a file.
Status write_text(const std::string& path, const std::string& text) {
  const os::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return failure_from_errno(path, errno);
  ssize_t written;
  do written = ::write(file.get(), text.data(), text.size());
  while (written < 0 && errno == EINTR);  // a memory limit may take long, and a child end meanwhile
  return written < 0 ? Status(failure_from_errno(path, errno)) : Status();
}

bool has_word(const std::string& words, const std::string& word, char separator) {
  std::istringstream stream(words);
  for (std::string one; std::getline(stream, one, separator);) {
    if (one == word) return true;
  }
  return false;
}

// Reads a value from lines "key number".
uint64_t value_of(const std::string& path, const std::string& key) {
  std::istringstream stream(read_text(path));
  std::string name;
  for (uint64_t value; stream >> name >> value;) {
    if (name == key) return value;
  }
  return 0;
}

struct Mount {
  std::string root;  // the part of the hierarchy that is mounted
  std::string at;
  std::string type;
  std::string options;  // of the super block: the controllers
};

std::vector<Mount> read_mounts(const std::string& root) {
  std::vector<Mount> mounts;
  std::istringstream lines(read_text(root + "/proc/self/mountinfo"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    Mount mount;
    words >> word >> word >> word >> mount.root >> mount.at;
    while (words >> word && word != "-") {
    }
    words >> mount.type >> word >> mount.options;
    if (mount.type == "cgroup" || mount.type == "cgroup2") mounts.push_back(std::move(mount));
  }
  return mounts;
}

// The group of this process in the hierarchy with the controller (version 2:
// ""), as seen through the mount.
std::string own_group(const std::string& root, const std::string& controller, const Mount& mount) {
  std::istringstream lines(read_text(root + "/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? !controllers.empty() : !has_word(controllers, controller, ',')) continue;
    std::string group = line.substr(second + 1);
    if (mount.root != "/" && group.starts_with(mount.root)) group.erase(0, mount.root.size());
    return group == "/" ? "" : group;
  }
  return "";
}

// Removes the part that a ControlGroups made, so that the same directory is found from within a job.
std::string without_jobs(std::string group) {
  if (const size_t at = group.find(kPrefix); at != std::string::npos) group.resize(at);
  if (group.ends_with(kServiceLeaf)) group.resize(group.size() - (sizeof kServiceLeaf - 1));
  return group;
}

// systemd marks the groups that it has delegated.
bool is_delegated(const std::string& directory) {
  char value[2] = {};
  for (const char* name : {"trusted.delegate", "user.delegate"}) {
    if (::getxattr(directory.c_str(), name, value, sizeof value) > 0 && value[0] == '1') return true;
  }
  return false;
}

void for_each_child(const std::string& directory, const std::function<void(const std::string&)>& visit) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) visit(entry->path().string());
  }
}

void collect_processes(const std::string& directory, bool with_groups_below, std::vector<pid_t>& pids) {
  std::istringstream stream(read_text(directory + "/cgroup.procs"));
  for (pid_t pid; stream >> pid;) pids.push_back(pid);
  if (!with_groups_below) return;
  for_each_child(directory, [&](const std::string& child) { collect_processes(child, true, pids); });
}

Status remove_tree(const std::string& directory) {
  if (::rmdir(directory.c_str()) == 0 || errno == ENOENT) return {};
  if (errno != EBUSY && errno != ENOTEMPTY) return failure_from_errno(directory, errno);
  for_each_child(directory,
                 [](const std::string& child) { [[maybe_unused]] Status done = remove_tree(child); });
  if (::rmdir(directory.c_str()) != 0 && errno != ENOENT) return failure_from_errno(directory, errno);
  return {};
}

// Version 1: whether the mount is the hierarchy with the controller.
bool has_controller(const Mount& mount, const char* controller) {
  return mount.type == "cgroup" && has_word(mount.options, controller, ',');
}

// This process's group in the hierarchy, without the part that a ControlGroups made.
std::string group_in(const std::string& root, const Mount& mount, const char* controller) {
  return root + mount.at + without_jobs(own_group(root, controller, mount));
}

// Version 2: the controllers of `wanted` that the group offers to those below it.
std::vector<const char*> offered_by(const std::string& group, const std::vector<const char*>& wanted) {
  std::string offered = read_text(group + "/cgroup.controllers");
  std::replace(offered.begin(), offered.end(), '\n', ' ');
  std::vector<const char*> found;
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(found),
               [&](const char* controller) { return has_word(offered, controller, ' '); });
  return found;
}

}  // namespace

Result<ControlGroups> ControlGroups::find(const std::string& name, bool with_cpus, const std::string& root) {
  ControlGroups groups;
  const std::vector<Mount> mounts = read_mounts(root);
  const std::vector<const char*> wanted(std::begin(kUsed) + (with_cpus ? 0 : 1), std::end(kUsed));
  for (const char* controller : wanted) {
    const auto mount = std::find_if(mounts.begin(), mounts.end(),
                                    [&](const Mount& one) { return has_controller(one, controller); });
    if (mount == mounts.end()) continue;
    groups.version_ = 1;
    groups.bases_[controller] = group_in(root, *mount, controller) + kPrefix + name;
  }
  if (with_cpus && groups.version_ == 1) {
    groups.devices_problem_ = "the kernel's devices controller is not mounted";
    for (const Mount& mount : mounts) {
      if (!has_controller(mount, kDevices)) continue;
      groups.bases_[kDevices] = group_in(root, mount, kDevices) + kPrefix + name;
      groups.devices_problem_.clear();
    }
  }
  for (const Mount& mount : mounts) {
    if (groups.version_ != 0 || mount.type != "cgroup2") continue;
    const std::string own = group_in(root, mount, "");
    groups.delegated_ = is_delegated(own);
    const std::string parent = groups.delegated_ ? own : root + mount.at;
    for (const char* controller : offered_by(parent, wanted)) {
      groups.version_ = 2;
      groups.bases_[controller] = parent + kPrefix + name;
    }
  }
  if (!groups.bases_.contains("memory") && !groups.bases_.contains("pids"))
    return failure("this kernel offers no control groups for memory or processes", ENOTSUP);
  for (const auto& [controller, base] : groups.bases_) {
    const std::string parent = base.substr(0, base.rfind('/'));
    if (::access(parent.c_str(), W_OK) != 0) return failure_from_errno(parent, errno);
  }
  return groups;
}

void ControlGroups::leave() {
  for (const Mount& mount : read_mounts("")) {
    std::string own;
    if (mount.type == "cgroup2") {
      own = own_group("", "", mount);
    } else {
      for (const char* controller : {kUsed[0], kUsed[1], kUsed[2], kDevices}) {
        if (has_word(mount.options, controller, ',')) own = own_group("", controller, mount);
      }
    }
    const size_t at = own.find(kPrefix);
    if (at == std::string::npos) continue;
    std::string outer = mount.at + own.substr(0, at);
    // A group that gives controllers to others has no processes of its own.
    if (mount.type == "cgroup2" && ::access((outer + kServiceLeaf).c_str(), F_OK) == 0) outer += kServiceLeaf;
    [[maybe_unused]] const Status left = write_text(outer + "/cgroup.procs", "0");
  }
}

bool ControlGroups::is_of_jobs(const std::string& groups) {
  return groups.find(kPrefix) != std::string::npos;
}

std::vector<std::string> ControlGroups::controllers() const {
  std::vector<std::string> names;
  for (const auto& [controller, base] : bases_) names.push_back(controller);
  return names;
}

std::string ControlGroups::path(const std::string& controller, const std::string& group,
                                const char* file) const {
  return bases_.at(controller) + "/" + group + "/" + file;
}

std::vector<std::string> ControlGroups::directories(const std::string& group) const {
  std::vector<std::string> all;
  for (const auto& [controller, base] : bases_) {
    const bool nested = group.find('/') != std::string::npos;
    if (version_ == 1 && nested && base != divided()) continue;
    if (controller == kDevices && ::access((base + "/" + group).c_str(), F_OK) != 0) continue;
    all.push_back(base + "/" + group);
    if (version_ == 2) break;
  }
  return all;
}

const std::string& ControlGroups::divided() const {
  const auto memory = bases_.find("memory");
  return (memory != bases_.end() ? memory : bases_.find("pids"))->second;
}

std::vector<std::string> ControlGroups::process_directories(const std::string& group) const {
  std::vector<std::string> all = directories(group);
  const std::string top = group.substr(0, group.find('/'));
  if (version_ == 2 || top == group) return all;
  for (const auto& [controller, base] : bases_) {
    if (base == divided()) continue;
    if (controller == kDevices && ::access((base + "/" + top).c_str(), F_OK) != 0) continue;
    all.push_back(base + "/" + top);
  }
  return all;
}

// Version 2: lets groups below this directory use the controllers.
Status ControlGroups::give_controllers(const std::string& directory) const {
  std::string all;
  for (const auto& [controller, base] : bases_) all += (all.empty() ? "+" : " +") + controller;
  return write_text(directory + "/cgroup.subtree_control", all);
}

Status ControlGroups::prepare() {
  const std::string parent = bases_.begin()->second.substr(0, bases_.begin()->second.rfind('/'));
  if (delegated_) {
    const std::string leaf = parent + kServiceLeaf;
    if (::mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) return failure_from_errno(leaf, errno);
    std::istringstream own(read_text(parent + "/cgroup.procs"));
    for (std::string pid; own >> pid;) {
      if (auto moved = write_text(leaf + "/cgroup.procs", pid); !moved) return moved;
    }
  }
  if (version_ == 2) {
    if (auto given = give_controllers(parent); !given) return given;
  }
  for (const auto& [controller, base] : bases_) {
    if (::mkdir(base.c_str(), 0755) != 0 && errno != EEXIST) return failure_from_errno(base, errno);
    if (version_ == 2 || controller != "cpuset") continue;
    for (const char* file : {"/cpuset.cpus", "/cpuset.mems"}) {  // if empty, nothing can enter
      const std::string above = base.substr(0, base.rfind('/')) + file;
      if (auto set = write_text(base + file, read_text(above)); !set) return set;
    }
  }
  if (version_ == 1) return {};
  if (auto loaded = load_device_filter({}); !loaded) {
    devices_problem_ = "the kernel takes no device filter (eBPF): " + loaded.error().message;
  } else {
    devices_problem_.clear();
  }
  return give_controllers(bases_.begin()->second);
}

Status ControlGroups::create(const std::string& group, const GroupLimits& limits) {
  if (group.empty() || group.front() == '.' || group.front() == '/' || group.find("..") != std::string::npos)
    return failure("this is no name of a group: " + group, EINVAL);
  std::vector<std::string> made;
  Status result;
  if (const size_t slash = group.rfind('/'); version_ == 2 && slash != std::string::npos) {
    result = give_controllers(directories(group.substr(0, slash)).front());
  }
  if (const auto devices = bases_.find(kDevices); devices != bases_.end() && !limits.hidden.empty()) {
    const std::string directory = devices->second + "/" + group;
    if (::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) return failure_from_errno(directory, errno);
    made.push_back(directory);
  }
  for (const std::string& directory : directories(group)) {
    if (!result) break;
    if (!made.empty() && made.front() == directory) continue;
    if (::mkdir(directory.c_str(), 0755) != 0) {
      result = failure_from_errno(directory, errno);
      break;
    }
    made.push_back(directory);
  }
  if (result) result = set_limits(group, limits);
  if (result) return {};
  for (const std::string& directory : made) ::rmdir(directory.c_str());
  return result;
}

namespace {

Status limit_memory(const std::string& memory_file, const std::string& bytes, const std::string& swap_file,
                    const std::string& swap_bytes) {
  if (Status set = write_text(memory_file, bytes); !set) return set;
  if (::access(swap_file.c_str(), F_OK) != 0) return {};  // swap is not counted
  return write_text(swap_file, swap_bytes);
}

}  // namespace

Status ControlGroups::set_limits(const std::string& group, const GroupLimits& limits) const {
  const bool first = version_ == 1;
  const auto needs = [&](bool asked, const char* controller) -> Status {
    if (!asked || bases_.contains(controller)) return {};
    return failure(std::string("the kernel offers no ") + controller + " controller", ENOTSUP);
  };
  if (auto there = needs(limits.memory_bytes != 0, "memory"); !there) return there;
  if (auto there = needs(limits.pids != 0, "pids"); !there) return there;
  if (limits.memory_bytes != 0) {
    const std::string bytes = std::to_string(limits.memory_bytes);
    const Status set = first ? limit_memory(path("memory", group, "memory.limit_in_bytes"), bytes,
                                            path("memory", group, "memory.memsw.limit_in_bytes"), bytes)
                             : limit_memory(path("memory", group, "memory.max"), bytes,
                                            path("memory", group, "memory.swap.max"), "0");
    if (!set) return set;
  }
  if (limits.pids != 0) {
    if (auto set = write_text(path("pids", group, "pids.max"), std::to_string(limits.pids)); !set) return set;
  }
  if (!limits.hidden.empty()) {
    if (auto hidden = hide(group, limits.hidden); !hidden) return hidden;
  }
  const bool nested = group.find('/') != std::string::npos;
  const auto cpus = bases_.find("cpuset");
  if (cpus == bases_.end() || nested || (!first && limits.cpus.empty())) return {};
  const std::string list = limits.cpus.empty() ? read_text(cpus->second + "/cpuset.cpus") : limits.cpus;
  if (auto set = write_text(path("cpuset", group, "cpuset.cpus"), list); !set || !first) return set;
  return write_text(path("cpuset", group, "cpuset.mems"), read_text(cpus->second + "/cpuset.mems"));
}

Status ControlGroups::hide(const std::string& group, const std::vector<dev_t>& devices) const {
  if (!devices_problem_.empty()) return {};  // callers have been told
  if (version_ == 2) return attach_device_filter(directories(group).front(), devices);
  for (const dev_t device : devices) {
    const std::string rule =
        "c " + std::to_string(gnu_dev_major(device)) + ":" + std::to_string(gnu_dev_minor(device)) + " rwm";
    if (auto set = write_text(path(kDevices, group, "devices.deny"), rule); !set) return set;
  }
  return {};
}

Result<GroupEntry> ControlGroups::open(const std::string& group) const {
  GroupEntry entry;
  for (const std::string& directory : process_directories(group)) {
    const std::string file = directory + "/cgroup.procs";
    entry.files.emplace_back(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (!entry.files.back()) return failure_from_errno(file, errno);
    if (version_ == 1) continue;
    entry.directory.reset(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!entry.directory) return failure_from_errno(directory, errno);
  }
  return entry;
}

os::UniqueFd ControlGroups::open_file(const std::string& controller, const std::string& group,
                                      const char* file) const {
  return os::UniqueFd(::open(path(controller, group, file).c_str(), O_RDONLY | O_CLOEXEC));
}

Status ControlGroups::enter(const std::string& group, pid_t pid) const {
  for (const std::string& directory : process_directories(group)) {
    if (auto moved = write_text(directory + "/cgroup.procs", std::to_string(pid)); !moved) return moved;
  }
  return {};
}

uint64_t ControlGroups::oom_kills(const std::string& group) const {
  if (!bases_.contains("memory")) return 0;
  if (version_ == 1) return value_of(path("memory", group, "memory.oom_control"), "oom_kill");
  const std::string local = path("memory", group, "memory.events.local");
  return value_of(::access(local.c_str(), F_OK) == 0 ? local : path("memory", group, "memory.events"),
                  "oom_kill");
}

std::vector<pid_t> ControlGroups::processes(const std::string& group, bool with_groups_below) const {
  std::vector<pid_t> pids;
  collect_processes(directories(group).front(), with_groups_below, pids);
  std::erase(pids, 0);  // pids of another namespace; signal 0 would go to our own group
  return pids;
}

std::vector<std::string> ControlGroups::groups() const {
  std::vector<std::string> names;
  for (const auto& [controller, base] : bases_) {
    // clang 14 does not let a lambda capture a structured binding.
    for_each_child(base, [&names, length = base.size() + 1](const std::string& child) {
      names.push_back(child.substr(length));
    });
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void ControlGroups::kill(const std::string& group, pid_t spared) const {
  if (version_ == 2 && spared == 0 && write_text(directories(group).front() + "/cgroup.kill", "1")) return;
  if (bases_.contains("pids") && spared == 0 && group.find('/') == std::string::npos) {
    [[maybe_unused]] const Status closed = write_text(path("pids", group, "pids.max"), "0");
  }
  for (const pid_t pid : processes(group)) {
    if (pid != spared) ::kill(pid, SIGKILL);
  }
}

Status ControlGroups::remove(const std::string& group) const {
  Status result;
  for (const std::string& directory : directories(group)) {
    if (auto removed = remove_tree(directory); !removed) result = removed;
  }
  return result;
}

Status ControlGroups::remove_all() const {
  Status result;
  for (const auto& [controller, base] : bases_) {
    if (::rmdir(base.c_str()) != 0 && errno != ENOENT) result = failure_from_errno(base, errno);
  }
  return result;
}

}  // namespace minke::node
