#include "helpers/checkpoint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <filesystem>

#include "os/capture.h"
#include "os/files.h"
#include "text/number.h"

namespace minke::helpers {

namespace {

namespace fs = std::filesystem;
constexpr int kSecondsToCheck = 60;
constexpr int kSecondsToWork = 3600;  // the job's time limit ends it sooner
constexpr size_t kMaxLogBytes = size_t{1} << 20;

std::string criu() {
  for (const char* path : {"/usr/sbin/criu", "/usr/local/sbin/criu", "/usr/bin/criu"}) {
    if (::access(path, X_OK) == 0) return path;
  }
  return "";
}

// Returns the first of its error messages.
std::string complaint_in(std::string_view text) {
  for (const std::string_view line : text::split(text, '\n')) {
    if (line.ends_with("exited, status=1")) continue;  // of a helper, which is printed without an error, too
    if (const size_t at = line.find("Error ("); at != std::string_view::npos) {
      const size_t behind = line.find("): ", at);
      return std::string(text::trim(line.substr(behind == std::string_view::npos ? at : behind + 3)));
    }
  }
  return std::string(text::trim(text.substr(0, text.find('\n'))));
}

Status run_criu(std::vector<std::string> words, const std::string& log) {
  words.insert(words.begin(), criu());
  const auto done = os::run_captured(words, {.timeout_seconds = kSecondsToWork});
  if (!done) return failure(done.error());
  if (done->exit_code == 0) return {};
  const auto text = os::read_file(log, kMaxLogBytes);
  return failure(complaint_in(text ? *text : done->output));
}

// The output files of this process, as CRIU names them in the kept state: without the first slash.
std::string kept_name(int fd) {
  char path[PATH_MAX];
  const ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
  return length > 1 && path[0] == '/' ? std::string(path + 1, static_cast<size_t>(length - 1)) : "";
}

}  // namespace

Status criu_is_usable() {
  // No program of root's does it for others: CRIU reopens a program's files by name and with its own rights,
  // so a user could replace one of them and get a file opened with root's rights.
  const std::string who = ::geteuid() == 0 ? "" : " (it wants root's rights, and is for root's own jobs)";
  if (criu().empty()) return failure("criu is not installed" + who);
  const auto done = os::run_captured({criu(), "check"}, {.timeout_seconds = kSecondsToCheck});
  if (!done) return failure(done.error());
  if (done->exit_code == 0) return {};
  return failure("criu check: " + complaint_in(done->output) + who);
}

bool Checkpoint::exists() const {
  return ::access((directory_ + "/complete").c_str(), F_OK) == 0;
}

Status Checkpoint::take(pid_t root) {
  const std::string fresh = directory_ + ".new";
  std::error_code ignored;
  fs::remove_all(fresh, ignored);
  if (::mkdir(fresh.c_str(), 0700) != 0) return failure_from_errno(fresh, errno);
  const Status taken = run_criu({"dump", "--tree", std::to_string(root), "--images-dir", fresh, "--log-file",
                                 "dump.log", "--manage-cgroups=ignore", "--tcp-close", "--file-locks"},
                                fresh + "/dump.log");
  if (!taken) return taken;
  if (const Status marked = os::replace_file(fresh + "/complete", "", 0600); !marked) return marked;
  fs::remove_all(directory_, ignored);
  if (::rename(fresh.c_str(), directory_.c_str()) != 0) return failure_from_errno(directory_, errno);
  return {};
}

Result<pid_t> Checkpoint::restore() {
  const std::string pid_file = directory_ + "/pid";
  ::unlink(pid_file.c_str());
  std::vector<std::string> words = {"restore",           "--images-dir",
                                    directory_,          "--log-file",
                                    "restore.log",       "--manage-cgroups=ignore",
                                    "--tcp-close",       "--file-locks",
                                    "--restore-sibling", "--restore-detached",
                                    "--pidfile",         pid_file};
  // The log has grown since, so a reopened one would differ.
  constexpr int kFirst = 100;
  std::vector<int> held;
  std::vector<std::string> names;
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    const std::string name = kept_name(fd);
    if (name.empty() || name.starts_with("dev/") || (!names.empty() && names[0] == name)) continue;
    names.push_back(name);
    held.push_back(::fcntl(fd, F_DUPFD, kFirst));
    words.insert(words.end(), {"--inherit-fd", "fd[" + std::to_string(held.back()) + "]:" + name});
  }
  const Status restored = run_criu(words, directory_ + "/restore.log");
  for (const int fd : held) ::close(fd);
  if (!restored) return failure(restored.error());
  const auto text = os::read_file(pid_file, 64);
  if (!text) return failure(text.error());
  const auto pid = text::parse_unsigned(text::trim(*text), INT_MAX);
  if (!pid) return failure(pid_file + " has no number");
  return static_cast<pid_t>(*pid);
}

void Checkpoint::remove() {
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
  fs::remove_all(directory_ + ".new", ignored);
}

}  // namespace minke::helpers
