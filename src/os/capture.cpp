#include "os/capture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "os/fd.h"
#include "os/laid_over.h"
#include "os/pipe.h"
#include "os/user_child.h"

namespace minke::os {

Result<Captured> run_captured(const std::vector<std::string>& argv, const CaptureOptions& options) {
  auto pipe = make_pipe();
  if (!pipe) return failure(pipe.error());
  auto& [reader, writer] = *pipe;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, writer.get(), 1);
  if (options.with_standard_error) posix_spawn_file_actions_adddup2(&actions, writer.get(), 2);
  // A process group of its own, so that children of the program are killed with it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const std::vector<std::string> environment = laid_over(options.environment);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, argv[0].c_str(), &actions, &attributes, pointers_to(argv).data(),
                                  pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return failure_from_errno(argv[0], error);
  writer.reset();

  Captured result;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(options.timeout_seconds);
  bool late = false;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd wait{reader.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::max<int64_t>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      late = true;
      ::kill(-pid, SIGKILL);
      break;
    }
    char buffer[16384];
    const ssize_t got = ::read(reader.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (options.show && ::write(STDERR_FILENO, buffer, static_cast<size_t>(got)) < 0) {
      // Nobody reads it, but it is kept.
    }
    const size_t room = options.limit - std::min(options.limit, result.output.size());
    result.output.append(buffer, std::min(room, static_cast<size_t>(got)));
  }
  // It may have closed its output, and continue.
  const auto ended = wait_or_kill(pid, late ? std::chrono::steady_clock::now() : deadline);
  if (late || !ended)
    return failure(argv[0] + " took longer than " + std::to_string(options.timeout_seconds) + " s",
                   ETIMEDOUT);
  result.exit_code = *ended;
  return result;
}

}  // namespace minke::os
