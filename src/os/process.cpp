#include "os/process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <string>
#include <string_view>

#include "os/fd.h"

namespace minke::os {

std::optional<Process> process_in(int directory, pid_t pid) {
  const UniqueFd file(::openat(directory, "stat", O_RDONLY | O_CLOEXEC));
  struct stat status {};
  char text[2048];
  const ssize_t length = file ? ::read(file.get(), text, sizeof text) : -1;
  if (length <= 0 || ::fstat(directory, &status) != 0) return std::nullopt;
  const std::string_view line(text, static_cast<size_t>(length));
  // The command may hold spaces and parentheses: fields are counted from the last ")". The state is field 3,
  // starttime field 22.
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

}  // namespace minke::os
