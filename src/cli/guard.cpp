#include "cli/guard.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>

#include "base/result.h"
#include "config/configuration.h"
#include "node/discovery.h"
#include "node/guard.h"
#include "os/files.h"
#include "os/minke_home.h"

namespace minke::cli {

namespace {

constexpr char kUsersGroup[] = "user.slice";

struct Guarded {
  std::vector<std::string> groups;
  std::vector<dev_t> devices;
};

std::string guard_path(const std::string& home) {
  return home + "/guard";
}

Guarded read_guarded(const std::string& home) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  Guarded guarded;
  std::istringstream lines(os::read_file(guard_path(home), kMostBytes).value_or(""));
  std::string kind;
  for (std::string word; lines >> kind >> word;) {
    unsigned major = 0, minor = 0;
    if (kind == "group") guarded.groups.push_back(word);
    if (kind == "device" && std::sscanf(word.c_str(), "%u:%u", &major, &minor) == 2)
      guarded.devices.push_back(::makedev(major, minor));
  }
  return guarded;
}

Status write_guarded(const std::string& home, const Guarded& guarded) {
  if (guarded.groups.empty()) {
    return ::unlink(guard_path(home).c_str()) == 0 || errno == ENOENT
               ? Status()
               : failure_from_errno(guard_path(home), errno);
  }
  std::string text;
  for (const std::string& group : guarded.groups) text += "group " + group + "\n";
  for (const dev_t device : guarded.devices)
    text += "device " + std::to_string(::major(device)) + ":" + std::to_string(::minor(device)) + "\n";
  return os::replace_file(guard_path(home), text, 0600);
}

// Returns the device files of all GPUs that the cluster offers.
Result<std::vector<dev_t>> gpu_files(const std::string& home) {
  const auto config =
      config::load_configuration(home, os::configuration_path(home), node::discover_machine());
  if (!config) return failure(config.error());
  std::set<dev_t> devices;
  for (const auto& node : config->nodes) {
    for (const auto& gpu : node.gpu_devices()) {
      for (const std::string& file : gpu.files()) {
        struct stat info {};
        if (::stat(file.c_str(), &info) == 0 && S_ISCHR(info.st_mode)) devices.insert(info.st_rdev);
      }
    }
  }
  return std::vector<dev_t>(devices.begin(), devices.end());
}

// A daemon within such a group could not measure its GPUs, and its jobs could not use them.
Status is_outside(const std::string& home, const std::string& group) {
  for (const char* name : {"/launcher.pid", "/minked.pid"}) {
    const auto text = os::read_file(home + name, 64);
    const int pid = text ? std::atoi(text->c_str()) : 0;
    if (pid > 0 && node::is_in_group(pid, group))
      return failure("the cluster itself runs in " + group +
                     ": have systemd start it (minke up --print-units)");
  }
  return {};
}

Status set_guard(const std::string& home, const std::vector<std::string>& groups) {
  auto devices = gpu_files(home);
  if (!devices) return failure(devices.error());
  if (devices->empty()) return failure("this machine has no GPUs that could be guarded");
  Guarded guarded = read_guarded(home);
  for (const std::string& group : groups) {
    if (auto outside = is_outside(home, group); !outside) return outside;
    if (auto done = node::guard_group(group, *devices); !done) return done;
    if (std::find(guarded.groups.begin(), guarded.groups.end(), group) == guarded.groups.end())
      guarded.groups.push_back(group);
  }
  guarded.devices = std::move(*devices);
  return write_guarded(home, guarded);
}

int complain(const Error& error) {
  std::fprintf(stderr, "minke guard: error: %s\n", error.message.c_str());
  return 1;
}

int take_away(const std::string& home) {
  Guarded guarded = read_guarded(home);
  int code = 0;
  std::erase_if(guarded.groups, [&](const std::string& group) {
    const Status done = node::unguard_group(group, guarded.devices);
    if (done || done.error().code == ENOENT) return true;
    code = complain(done.error());
    return false;
  });
  if (const Status written = write_guarded(home, guarded); !written) return complain(written.error());
  return code;
}

}  // namespace

std::vector<std::string> guarded_groups(const std::string& home) {
  return read_guarded(home).groups;
}

void guard_again(const std::string& home) {
  const std::vector<std::string> groups = guarded_groups(home);
  if (groups.empty()) return;
  if (const Status set = set_guard(home, groups); !set) (void)complain(set.error());
}

int guard(const GuardOptions& options) {
  const auto home = os::minke_home();
  if (!home) return complain(home.error());
  if (!os::is_shared(*home) || ::geteuid() != 0)
    return complain(Error{EPERM, "it is for root, and for a shared cluster (minke up --shared)"});
  if (options.action == "on") {
    const auto groups = options.groups.empty() ? std::vector<std::string>{kUsersGroup} : options.groups;
    if (const Status set = set_guard(*home, groups); !set) return complain(set.error());
  } else if (options.action == "off") {
    if (const int code = take_away(*home); code != 0) return code;
  }
  const Guarded guarded = read_guarded(*home);
  if (guarded.groups.empty()) std::puts("off: processes outside of jobs can use the GPUs");
  for (const std::string& group : guarded.groups)
    std::printf("on: processes of %s cannot open the GPUs' %zu device files\n", group.c_str(),
                guarded.devices.size());
  return 0;
}

}  // namespace minke::cli
