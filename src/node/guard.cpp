#include "node/guard.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "node/device_filter.h"
#include "os/fd.h"

namespace minke::node {
namespace {

constexpr char kName[] = "minke_guard";  // of the filter, by which it is found again

struct Hierarchy {
  int version = 0;
  std::string mount;
};

// The hierarchy that decides on devices: that of version 1 if it is mounted.
Hierarchy find_hierarchy() {
  Hierarchy found;
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string source, at, type, options;
    words >> source >> at >> type >> options;
    if (type == "cgroup" && ("," + options + ",").find(",devices,") != std::string::npos) return {1, at};
    if (type == "cgroup2" && found.version == 0) found = {2, at};
  }
  return found;
}

Result<std::string> directory_of(const Hierarchy& hierarchy, const std::string& group) {
  if (group.empty() || group.front() == '/' || ("/" + group + "/").find("/../") != std::string::npos)
    return failure("'" + group + "' is no path of a control group", EINVAL);
  if (hierarchy.version == 0) return failure("the kernel offers no control groups", ENOTSUP);
  const std::string directory = hierarchy.mount + "/" + group;
  if (::access((directory + "/cgroup.procs").c_str(), F_OK) != 0)
    return failure("there is no control group " + directory, ENOENT);
  return directory;
}

Status tell(const std::string& directory, const char* file, const std::vector<dev_t>& devices) {
  const std::string path = directory + "/" + file;
  const os::UniqueFd open(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!open) return failure_from_errno(path, errno);
  for (const dev_t device : devices) {
    const std::string line =
        "c " + std::to_string(gnu_dev_major(device)) + ":" + std::to_string(gnu_dev_minor(device)) + " rwm";
    if (::write(open.get(), line.data(), line.size()) < 0) return failure_from_errno(path, errno);
  }
  return {};
}

// Allowing a device to a group does not allow it to the groups below. Goes from the top down, because no
// group may have what its parent lacks.
Status allow_everywhere(const std::string& directory, const std::vector<dev_t>& devices) {
  if (auto told = tell(directory, "devices.allow", devices); !told) return told;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    std::error_code ignored;
    if (!entry.is_directory(ignored)) continue;
    // A group that has gone meanwhile needs nothing.
    if (auto told = allow_everywhere(entry.path().string(), devices); !told && told.error().code != ENOENT)
      return told;
  }
  return {};
}

}  // namespace

Status guard_group(const std::string& group, const std::vector<dev_t>& devices) {
  const Hierarchy hierarchy = find_hierarchy();
  const auto directory = directory_of(hierarchy, group);
  if (!directory) return failure(directory.error());
  if (hierarchy.version == 1) return tell(*directory, "devices.deny", devices);
  // Attaches the new filter first, so that there is no moment without one.
  const auto old = find_device_filters(*directory, kName);
  if (!old) return failure(old.error());
  if (auto attached = attach_device_filter(*directory, devices, kName); !attached) return attached;
  return detach_device_filters(*directory, *old);
}

Status unguard_group(const std::string& group, const std::vector<dev_t>& devices) {
  const Hierarchy hierarchy = find_hierarchy();
  const auto directory = directory_of(hierarchy, group);
  if (!directory) return failure(directory.error());
  if (hierarchy.version == 1) return allow_everywhere(*directory, devices);
  const auto old = find_device_filters(*directory, kName);
  if (!old) return failure(old.error());
  return detach_device_filters(*directory, *old);
}

bool is_in_group(pid_t pid, const std::string& group) {
  const Hierarchy hierarchy = find_hierarchy();
  std::ifstream lines("/proc/" + std::to_string(pid) + "/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (hierarchy.version == 1 ? controllers.find(",devices,") == std::string::npos : controllers != ",,")
      continue;
    return (line.substr(second) + "/").starts_with(":/" + group + "/");
  }
  return false;
}

}  // namespace minke::node
