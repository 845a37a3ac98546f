#include "cli/srun/step_io.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace minke::cli {

namespace {

termios g_terminal_before;  // restored by atexit(3), however srun ends

void restore_terminal() {
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &g_terminal_before);
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// Lines of different tasks must not be mixed.
std::mutex g_output;

void copy_labelled(os::UniqueFd from, int to, std::string label) {
  std::string line = label;
  char buffer[16 << 10];
  for (;;) {
    const ssize_t got = ::read(from.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    std::string whole;
    for (const char c : std::string_view(buffer, static_cast<size_t>(got))) {
      line.push_back(c);
      if (c != '\n') continue;
      whole += line;
      line = label;
    }
    if (whole.empty()) continue;
    const std::lock_guard lock(g_output);
    write_all(to, whole);
  }
  if (line.size() > label.size()) {
    const std::lock_guard lock(g_output);
    write_all(to, line + "\n");
  }
}

// Reads `from` until it ends or `stop` is readable, and writes all of it to each of `to`.
void copy_input(int from, int stop, std::vector<os::UniqueFd> to) {
  char buffer[16 << 10];
  for (;;) {
    pollfd descriptors[] = {{from, POLLIN, 0}, {stop, POLLIN, 0}};
    if (::poll(descriptors, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (descriptors[1].revents != 0) return;
    const ssize_t got = ::read(from, buffer, sizeof(buffer));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return;
    for (os::UniqueFd& fd : to) {
      if (fd && !write_all(fd.get(), {buffer, static_cast<size_t>(got)})) fd.reset();
    }
  }
}

void copy_output(os::UniqueFd from, int to) {
  char buffer[16 << 10];
  for (;;) {
    const ssize_t got = ::read(from.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;  // EIO: the last holder of the terminal's other side is gone
    write_all(to, {buffer, static_cast<size_t>(got)});
  }
}

bool is_null_device(int fd) {
  char target[64];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = ::readlink(link.c_str(), target, sizeof(target));
  return length > 0 && std::string_view(target, static_cast<size_t>(length)) == "/dev/null";
}

}  // namespace

StepIo::~StepIo() {
  finish();
}

uint32_t StepIo::add(os::UniqueFd fd) {
  to_send_.push_back(std::move(fd));
  return static_cast<uint32_t>(to_send_.size() - 1);
}

Status StepIo::label_output(uint32_t tasks, int to, rpc::StepStream& stream) {
  const size_t width = std::to_string(tasks - 1).size();
  stream.set_descriptors(tasks);
  for (uint32_t task = 0; task < tasks; ++task) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return failure_from_errno("pipe", errno);
    const uint32_t index = add(os::UniqueFd(ends[1]));
    if (task == 0) stream.set_first_descriptor(index);
    std::string label = std::to_string(task);
    label.insert(0, width - label.size(), ' ');
    writers_.emplace_back(copy_labelled, os::UniqueFd(ends[0]), to, label + ": ");
  }
  return {};
}

Status StepIo::broadcast_input(uint32_t tasks, rpc::StepStream& stream) {
  std::vector<os::UniqueFd> to;
  stream.set_descriptors(tasks);
  for (uint32_t task = 0; task < tasks; ++task) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return failure_from_errno("pipe", errno);
    const uint32_t index = add(os::UniqueFd(ends[0]));
    if (task == 0) stream.set_first_descriptor(index);
    to.emplace_back(ends[1]);
  }
  stop_reading_.reset(::eventfd(0, EFD_CLOEXEC));
  reader_ = std::thread(copy_input, STDIN_FILENO, stop_reading_.get(), std::move(to));
  return {};
}

Status StepIo::open_terminal(rpc::StepSpec& spec) {
  int master, slave;
  winsize size{};
  const bool has_size = ::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0;
  const bool has_terminal = ::tcgetattr(STDIN_FILENO, &g_terminal_before) == 0;
  if (::openpty(&master, &slave, nullptr, has_terminal ? &g_terminal_before : nullptr,
                has_size ? &size : nullptr) != 0) {
    return failure_from_errno("openpty", errno);
  }
  ::fcntl(master, F_SETFD, FD_CLOEXEC);
  ::fcntl(slave, F_SETFD, FD_CLOEXEC);
  const uint32_t index = add(os::UniqueFd(slave));
  for (rpc::StepStream* stream : {spec.mutable_stdin(), spec.mutable_stdout(), spec.mutable_stderr()}) {
    stream->set_first_descriptor(index);
    stream->set_descriptors(1);
    stream->set_only_task(0);
  }
  spec.set_pty(true);
  if (has_terminal) {
    termios raw = g_terminal_before;
    ::cfmakeraw(&raw);
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    raw_terminal_ = true;
    std::atexit(restore_terminal);
  }
  std::vector<os::UniqueFd> to;
  to.emplace_back(::fcntl(master, F_DUPFD_CLOEXEC, 0));
  stop_reading_.reset(::eventfd(0, EFD_CLOEXEC));
  reader_ = std::thread(copy_input, STDIN_FILENO, stop_reading_.get(), std::move(to));
  writers_.emplace_back(copy_output, os::UniqueFd(master), STDOUT_FILENO);
  return {};
}

Status StepIo::set_up(const submit::JobRequest& request, uint32_t tasks, rpc::StepSpec& spec) {
  if (request.pty) return open_terminal(spec);
  const model::JobSpec& job = request.spec;
  const auto own = [&](int fd, rpc::StepStream& stream) {
    os::UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!copy) return;  // closed by who started srun: the tasks get /dev/null
    stream.set_first_descriptor(add(std::move(copy)));
    stream.set_descriptors(1);
  };
  // --output=none and a task's number have their own meaning; anything else is a file for the tasks to open.
  const auto is_number = [](const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  };
  if (job.stdin_path() == "none") {
  } else if (!job.stdin_path().empty() && job.stdin_path() != "all" && !is_number(job.stdin_path())) {
    spec.mutable_stdin()->set_path(job.stdin_path());
  } else if (is_number(job.stdin_path())) {
    own(STDIN_FILENO, *spec.mutable_stdin());
    spec.mutable_stdin()->set_only_task(
        static_cast<uint32_t>(std::strtoul(job.stdin_path().c_str(), nullptr, 10)));
  } else if (tasks == 1) {
    own(STDIN_FILENO, *spec.mutable_stdin());
  } else if (::fcntl(STDIN_FILENO, F_GETFD) >= 0 && !is_null_device(STDIN_FILENO)) {
    if (const Status done = broadcast_input(tasks, *spec.mutable_stdin()); !done) return done;
  }
  const auto output = [&](const std::string& path, int fd, rpc::StepStream& stream) -> Status {
    if (path == "none") {
      stream.set_path("/dev/null");
      return {};
    }
    if (is_number(path)) {
      own(fd, stream);
      stream.set_only_task(static_cast<uint32_t>(std::strtoul(path.c_str(), nullptr, 10)));
      return {};
    }
    if (!path.empty() && path != "all") {
      stream.set_path(path);
      return {};
    }
    if (request.label) return label_output(tasks, fd, stream);
    own(fd, stream);
    return {};
  };
  if (const Status done = output(job.stdout_path(), STDOUT_FILENO, *spec.mutable_stdout()); !done)
    return done;
  // With a file for the output and none for errors, errors go to that file too.
  if (job.stderr_path().empty() && !spec.stdout().path().empty()) return {};
  return output(job.stderr_path(), STDERR_FILENO, *spec.mutable_stderr());
}

std::vector<int> StepIo::descriptors() const {
  std::vector<int> fds;
  for (const os::UniqueFd& fd : to_send_) fds.push_back(fd.get());
  return fds;
}

void StepIo::sent() {
  to_send_.clear();
}

void StepIo::finish() {
  to_send_.clear();
  for (std::thread& writer : writers_) writer.join();
  writers_.clear();
  if (reader_.joinable()) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(stop_reading_.get(), &one, sizeof(one));
    reader_.join();
  }
  if (raw_terminal_) restore_terminal();
  raw_terminal_ = false;
}

}  // namespace minke::cli
