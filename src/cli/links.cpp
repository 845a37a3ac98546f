#include "cli/links.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string_view>

#include "os/files.h"
#include "os/minke_home.h"
#include "os/this_program.h"
#include "text/number.h"

namespace minke::cli {

namespace {

Status make_link(const std::string& path, const std::string& program) {
  char target[PATH_MAX];
  const ssize_t known = ::readlink(path.c_str(), target, sizeof(target) - 1);
  if (known > 0 && std::string_view(target, static_cast<size_t>(known)) == program) return {};
  const std::string temporary = path + "." + std::to_string(::getpid());
  ::unlink(temporary.c_str());
  if (::symlink(program.c_str(), temporary.c_str()) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0)
    return failure_from_errno(path, errno);
  return {};
}

// Whether PATH has a command outside of `own`.
bool on_path(const std::string& command, const std::string& own) {
  const char* path = std::getenv("PATH");
  for (const std::string_view directory : text::split(path == nullptr ? "" : path, ':')) {
    if (directory.empty() || directory == own) continue;
    if (::access((std::string(directory) + "/" + command).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace

Status make_links(const std::string& home) {
  const auto self = os::this_program();
  if (!self) return failure(self.error());
  const std::string bin = os::bin_path(home);
  const mode_t mode = os::is_shared(home) ? 0755 : 0700;
  if (const Status made = os::make_directories(bin, mode); !made) return made;
  if (mode == 0755 && ::chmod(bin.c_str(), mode) != 0) return failure_from_errno(bin, errno);
  for (const char* name : kLinkNames) {
    if (const Status made = make_link(bin + "/" + name, *self); !made) return made;
  }
  return {};
}

Result<std::string> make_links_beside_slurm(const std::string& home) {
  const auto self = os::this_program();
  if (!self) return self;
  std::string bin = home + "/beside-slurm";
  if (const Status made = os::make_directories(bin, 0700); !made) return failure(made.error());
  for (const char* name : kBesideSlurm) {
    const std::string path = bin + "/" + name;
    if (on_path(name, bin)) {
      ::unlink(path.c_str());
    } else if (const Status made = make_link(path, *self); !made) {
      return failure(made.error());
    }
  }
  return bin;
}

std::string real_slurm_command(const std::string& home) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::string directory(rest.substr(0, rest.find(':')));
    rest.remove_prefix(std::min(rest.size(), directory.size() + 1));
    if (directory.empty() || directory == os::bin_path(home)) continue;
    const std::string candidate = directory + "/sbatch";
    if (::access(candidate.c_str(), X_OK) != 0) continue;
    // The links of another Minke are not a real Slurm.
    char target[PATH_MAX];
    if (::realpath(candidate.c_str(), target) != nullptr && std::string_view(target).ends_with("/minke"))
      continue;
    return candidate;
  }
  return {};
}

}  // namespace minke::cli
