#include "os/minke_home.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>

#include "os/files.h"

namespace minke::os {

namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string user_home() {
  if (std::string home = from_environment("HOME"); !home.empty()) return home;
  const passwd* entry = getpwuid(getuid());
  return entry == nullptr ? "/" : entry->pw_dir;
}

// A directory that nobody but root may write to.
bool is_roots_alone(const std::string& path) {
  struct stat directory {};
  return ::lstat(path.c_str(), &directory) == 0 && S_ISDIR(directory.st_mode) && directory.st_uid == 0 &&
         (directory.st_mode & 0022) == 0;
}

}  // namespace

bool is_shared(const std::string& home) {
  struct stat mark {};
  return is_roots_alone(home) && ::lstat((home + "/shared").c_str(), &mark) == 0 && S_ISREG(mark.st_mode) &&
         mark.st_uid == 0;
}

std::string site_home() {
  const std::string given = from_environment("MINKE_HOME");
  return !given.empty() && is_roots_alone(given) ? given : kSharedHome;
}

Status mark_shared(const std::string& home) {
  if (geteuid() != 0) return failure("only root can share a cluster", EPERM);
  // A user who may rename a directory on the way to it could replace it.
  for (std::filesystem::path path = std::filesystem::absolute(home); path.has_relative_path();
       path = path.parent_path()) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) continue;
    const bool sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
    if (info.st_uid != 0 || (!sticky && !S_ISLNK(info.st_mode) && (info.st_mode & 0022) != 0))
      return failure(path.string() + " must be root's, and nobody else may write to it", EPERM);
  }
  if (const Status made = make_directories(home, 0711); !made) return made;
  if (::chmod(home.c_str(), 0711) != 0) return failure_from_errno(home, errno);
  return replace_file(home + "/shared", "", 0644);
}

std::string minke_home_path() {
  std::string home = from_environment("MINKE_HOME");
  if (home.empty() && is_shared(kSharedHome)) home = kSharedHome;
  if (!home.empty()) return home;
  const std::string state = from_environment("XDG_STATE_HOME");
  return (state.empty() ? user_home() + "/.local/state" : state) + "/minke";
}

Result<std::string> minke_home() {
  const std::string home = minke_home_path();
  const bool named = !from_environment("MINKE_HOME").empty() || home == kSharedHome;
  char known[PATH_MAX];
  if (named && ::realpath(home.c_str(), known) != nullptr && is_shared(known)) return std::string(known);
  if (const Status made = make_directories(home, 0700); !made) {
    return failure("the state directory cannot be made: " + made.error().message, made.error().code);
  }
  char resolved[PATH_MAX];
  if (::realpath(home.c_str(), resolved) == nullptr) return failure_from_errno(home, errno);
  struct stat status {};
  if (::stat(resolved, &status) != 0) return failure_from_errno(resolved, errno);
  if (!S_ISDIR(status.st_mode)) return failure_from_errno(resolved, ENOTDIR);
  if (status.st_uid != geteuid()) {
    return failure(
        std::string(resolved) + " belongs to another user; set MINKE_HOME to a directory of your own",
        EACCES);
  }
  // A home that others may write to is no safe place for scripts that run as you.
  if ((status.st_mode & 0077) != 0) ::chmod(resolved, 0700);
  return std::string(resolved);
}

std::string configuration_path(const std::string& home) {
  if (std::string given = from_environment("MINKE_CONFIG"); !given.empty()) {
    char resolved[PATH_MAX];
    return ::realpath(given.c_str(), resolved) == nullptr ? given : resolved;
  }
  const std::string usual = home == kSharedHome ? kSharedConfiguration : home + "/minke.toml";
  return ::access(usual.c_str(), F_OK) == 0 ? usual : std::string();
}

}  // namespace minke::os
