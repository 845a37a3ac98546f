#include "cli/links.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string_view>

#include "os/files.h"
#include "os/minke_home.h"

namespace minke::cli {

Status make_links(const std::string& home) {
  char self[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof(self) - 1);
  if (length <= 0) return failure_from_errno("/proc/self/exe", errno);
  self[length] = '\0';
  const std::string bin = os::bin_path(home);
  const mode_t mode = os::is_shared(home) ? 0755 : 0700;
  if (const Status made = os::make_directories(bin, mode); !made) return made;
  if (mode == 0755 && ::chmod(bin.c_str(), mode) != 0) return failure_from_errno(bin, errno);
  for (const char* name : kLinkNames) {
    const std::string path = bin + "/" + name;
    char target[PATH_MAX];
    const ssize_t known = ::readlink(path.c_str(), target, sizeof(target) - 1);
    if (known > 0 && std::string_view(target, static_cast<size_t>(known)) == self) continue;
    const std::string temporary = path + "." + std::to_string(::getpid());
    ::unlink(temporary.c_str());
    if (::symlink(self, temporary.c_str()) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
      return failure_from_errno(path, errno);
    }
  }
  return {};
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
