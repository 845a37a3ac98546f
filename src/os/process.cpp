#include "os/process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

#include "os/fd.h"
#include "os/files.h"

namespace minke::os {
namespace {

// The kernel's letter for what a task does; '?': it may not be looked at, or is gone.
char state_of(const std::string& task) {
  const auto stat = read_file(task + "/stat", 4096);
  const size_t at = stat ? stat->rfind(") ") : std::string::npos;
  return at == std::string::npos || at + 2 >= stat->size() ? '?' : (*stat)[at + 2];
}

// A thread of it that waits for a disk.
std::string task_in_disk_wait(const std::string& process) {
  std::error_code error;
  std::filesystem::directory_iterator task(process + "/task", error);
  for (; !error && task != std::filesystem::directory_iterator(); task.increment(error))
    if (state_of(task->path()) == 'D') return task->path();
  return {};
}

}  // namespace

std::optional<Process> process_in(int directory, pid_t pid) {
  const UniqueFd file(::openat(directory, "stat", O_RDONLY | O_CLOEXEC));
  struct stat status {};
  char text[2048];
  const ssize_t length = file ? ::read(file.get(), text, sizeof text) : -1;
  if (length <= 0 || ::fstat(directory, &status) != 0) return std::nullopt;
  const std::string_view line(text, static_cast<size_t>(length));
  // The command may contain spaces and parentheses: fields are counted from the last ")". The state is field
  // 3, starttime field 22.
  size_t at = line.rfind(')');
  if (at == std::string_view::npos || line.substr(at, 3) == ") Z" || line.substr(at, 3) == ") X")
    return std::nullopt;
  for (int field = 2; field < 22; ++field) {
    at = line.find(' ', at + 1);
    if (at == std::string_view::npos) return std::nullopt;
  }
  Process process{pid, status.st_uid, 0};
  const char* const end = line.data() + line.size();
  if (std::from_chars(line.data() + at + 1, end, process.start_ticks).ec != std::errc()) return std::nullopt;
  return process;
}

std::optional<Process> process_of(pid_t pid) {
  const UniqueFd directory(
      ::open(("/proc/" + std::to_string(pid)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return directory ? process_in(directory.get(), pid) : std::nullopt;
}

bool is_stopped(pid_t pid) {
  const char state = state_of("/proc/" + std::to_string(pid));
  return state == 'T' || state == 't';
}

std::string what_keeps(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  if (is_stopped(pid)) return "is stopped (kill -CONT " + std::to_string(pid) + " lets it go on)";
  const std::string task = task_in_disk_wait(process);
  if (task.empty()) return {};
  constexpr int kLooks = 9;  // a disk that answers slowly lets it go on in between
  for (int look = 0; look < kLooks; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (state_of(task) != 'D') return {};
  }
  return "waits for a disk that does not answer";
}

}  // namespace minke::os
