#include "os/program_output.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "os/laid_over.h"
#include "os/pipe.h"
#include "os/user_child.h"

namespace minke::os {
namespace {

constexpr size_t kLongestComplaint = 8192;

int milliseconds_until(std::chrono::steady_clock::time_point deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000));
}

}  // namespace

Result<ProgramOutput> ProgramOutput::start(const std::vector<std::string>& argv, ProgramOptions options) {
  auto output = make_pipe(), error = make_pipe();
  if (!output || !error) return failure((output ? error : output).error());
  ProgramOutput program;
  program.output_ = std::move(output->reader);
  program.error_ = std::move(error->reader);
  UniqueFd &output_end = output->writer, &error_end = error->writer;
  ::fcntl(program.error_.get(), F_SETFL, O_NONBLOCK);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (options.input >= 0) {
    posix_spawn_file_actions_adddup2(&actions, options.input, 0);
  } else {
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, output_end.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, error_end.get(), 2);
  // A group of its own, so that what it started is killed with it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const std::vector<std::string> environment =
      options.only_environment ? options.environment : laid_over(options.environment);
  pid_t pid = 0;
  const int problem = ::posix_spawn(&pid, argv[0].c_str(), &actions, &attributes, pointers_to(argv).data(),
                                    pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (problem != 0) return failure_from_errno(argv[0], problem);
  program.child_ = pid;
  program.name_ = argv[0];
  program.deadline_ = std::chrono::steady_clock::now() + options.timeout;
  program.options_ = std::move(options);
  return program;
}

ProgramOutput::ProgramOutput(ProgramOutput&& other) noexcept
    : name_(std::move(other.name_)),
      options_(std::move(other.options_)),
      deadline_(other.deadline_),
      child_(std::exchange(other.child_, std::nullopt)),
      output_(std::move(other.output_)),
      error_(std::move(other.error_)),
      read_(other.read_),
      complaint_(std::move(other.complaint_)) {}

ProgramOutput::~ProgramOutput() {
  kill();
}

void ProgramOutput::kill() {
  if (!child_) return;
  ::kill(-*child_, SIGKILL);
  (void)wait_or_kill(*child_, std::chrono::steady_clock::now());
  child_.reset();
}

void ProgramOutput::keep_complaint() {
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(error_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;
    if (got == 0) return error_.reset();
    const size_t room = kLongestComplaint - std::min(kLongestComplaint, complaint_.size());
    complaint_.append(buffer, std::min(room, static_cast<size_t>(got)));
  }
}

Result<size_t> ProgramOutput::read(char* buffer, size_t size) {
  for (;;) {
    pollfd wait[2] = {{output_.get(), POLLIN, 0}, {error_.get(), POLLIN, 0}};  // -1 is passed over
    const int ready = ::poll(wait, 2, milliseconds_until(deadline_));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      kill();
      return failure(name_ + " took longer than " + std::to_string(options_.timeout.count()) + " s",
                     ETIMEDOUT);
    }
    if (wait[1].revents != 0) keep_complaint();
    if (wait[0].revents == 0) continue;
    const ssize_t got = ::read(output_.get(), buffer, size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure_from_errno(name_, errno);
    read_ += static_cast<size_t>(got);
    if (read_ > options_.most_bytes) {
      kill();
      return failure(name_ + " says more than " + std::to_string(options_.most_bytes >> 20) + " MiB", EFBIG);
    }
    return static_cast<size_t>(got);
  }
}

Result<ProgramOutput::Ended> ProgramOutput::finish() {
  if (!child_) return failure(name_ + " was ended", ECANCELED);
  // It may have closed its output, and complain afterwards.
  while (error_) {
    pollfd wait{error_.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, milliseconds_until(deadline_));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    keep_complaint();
  }
  const auto ended = wait_or_kill(*child_, deadline_);
  child_.reset();
  if (!ended)
    return failure(name_ + " took longer than " + std::to_string(options_.timeout.count()) + " s", ETIMEDOUT);
  return Ended{.exit_code = *ended, .complaint = std::move(complaint_)};
}

}  // namespace minke::os
