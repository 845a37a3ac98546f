#include "helpers/say_to_owner.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>

#include "os/fd.h"
#include "os/files.h"
#include "os/process.h"
#include "os/user_child.h"
#include "text/number.h"

namespace minke::helpers {

namespace {

constexpr size_t kMostBytes = 8192;

// "salloc": the name that it was called by.
std::string name_of(const std::string& process) {
  const auto arguments = os::read_file(process + "/cmdline", 1 << 20);
  std::string name = arguments ? arguments->substr(0, arguments->find('\0')) : std::string();
  name.erase(0, name.rfind('/') + 1);
  return name.empty() ? "srun" : name;
}

// Runs with the user's rights.
int say(pid_t pid, uint64_t start_ticks, const std::string& message) {
  const std::string process = "/proc/" + std::to_string(pid);
  const os::UniqueFd directory(::open(process.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto there = directory ? os::process_in(directory.get(), pid) : std::nullopt;
  if (!there || there->start_ticks != start_ticks) return 1;
  const os::UniqueFd file(
      ::openat(directory.get(), "fd/2", O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  const std::string line = name_of(process) + ": " + message + "\n";
  return file && ::write(file.get(), line.data(), line.size()) >= 0 ? 0 : 1;
}

}  // namespace

int say_to_owner_main(int argc, char** argv) {
  if (argc < 5) return 2;
  uint64_t numbers[4];
  for (int i = 0; i < 4; ++i) {
    const auto number = text::parse_unsigned(argv[i + 1], i == 1 ? UINT64_MAX : UINT32_MAX);
    if (!number) return 2;
    numbers[i] = *number;
  }
  std::string message(kMostBytes, '\0');
  const ssize_t got = ::read(STDIN_FILENO, message.data(), message.size());
  if (got <= 0) return 1;
  message.resize(static_cast<size_t>(got));
  const auto rights = os::rights_of(static_cast<uid_t>(numbers[2]), static_cast<gid_t>(numbers[3]));
  const auto done = os::run_in_child(rights, {.time = std::chrono::seconds(5)}, [&](int) {
    return say(static_cast<pid_t>(numbers[0]), numbers[1], message);
  });
  return done ? done->exit_code : 1;
}

}  // namespace minke::helpers
