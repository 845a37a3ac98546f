#include "cli/srun/step_io.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "api/steps.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"
#include "os/pipe.h"
#include "text/number.h"

namespace minke::cli {

namespace {

termios g_terminal_before;  // atexit(3) restores it, however srun ends
int g_terminal = STDIN_FILENO;

void restore_terminal() {
  ::tcsetattr(g_terminal, TCSADRAIN, &g_terminal_before);
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

// Makes a pipe for each task; the task gets one end and `ours` the other. `input`: the task reads from it.
template <typename Ours>
Status StepIo::pipe_tasks(const Part& part, bool input, api::StepStream& stream,
                          std::vector<os::UniqueFd>& to_send, Ours ours) {
  stream.set_first_descriptor(static_cast<uint32_t>(to_send.size()));
  stream.set_descriptors(part.tasks);
  for (uint32_t task = part.first_task; task < part.first_task + part.tasks; ++task) {
    auto pipe = os::make_pipe();
    if (!pipe) return failure(pipe.error());
    auto& [reader, writer] = *pipe;
    to_send.push_back(std::move(input ? reader : writer));
    ours(task, std::move(input ? writer : reader));
  }
  return {};
}

Status StepIo::pipe_output(const submit::JobRequest& request, const Part& part, int to, bool is_error,
                           api::StepStream& stream, std::vector<os::UniqueFd>& to_send) {
  if (::fcntl(to, F_GETFD) < 0) return {};  // srun's caller closed it: the tasks get /dev/null
  const bool lines = part.all_tasks > 1 && !request.unbuffered;
  return pipe_tasks(part, false, stream, to_send, [&](uint32_t task, os::UniqueFd end) {
    pump_.add_output(std::move(end), task, is_error,
                     LineWriter(to, request.label ? task_label(task, part.all_tasks) : "", lines));
  });
}

Status StepIo::pipe_to_file(const submit::JobRequest& request, const Part& part, const std::string& pattern,
                            bool is_error, api::StepStream& stream, std::vector<os::UniqueFd>& to_send) {
  const std::string path = pattern.starts_with('/') ? pattern : request.spec.work_dir() + "/" + pattern;
  // Components of a heterogeneous job share a file, which the first one's srun has already opened.
  const bool shared = part.first_task != 0 && !text::differs_by_task(pattern);
  const bool append = shared || request.spec.open_mode() == model::OPEN_APPEND;
  return pipe_tasks(part, false, stream, to_send, [&](uint32_t task, os::UniqueFd end) {
    pump_.add_output(std::move(end), task, is_error, LineWriter(-1, task_label(task, part.all_tasks), true));
    labelled_files_.push_back({task, is_error, path, append});
  });
}

Status StepIo::open_files(text::FilePatternValues values, const api::StepStarted& started) {
  values.step = std::to_string(started.step_id());
  std::vector<std::string> nodes;
  for (const LabelledFile& file : labelled_files_) {
    const uint32_t rank = file.task - part_.first_task;
    values.task_rank = file.task;
    if (rank < static_cast<uint32_t>(started.node_of_task_size())) {
      values.host_name = started.node_of_task(static_cast<int>(rank));
      const auto known = std::find(nodes.begin(), nodes.end(), values.host_name);
      values.node_index = part_.first_node + static_cast<uint32_t>(known - nodes.begin());
      if (known == nodes.end()) nodes.push_back(values.host_name);
    }
    const std::string path = text::expand_file_pattern(file.pattern, values);
    os::UniqueFd& target = files_[path];
    if (!target) {
      target.reset(::open(path.c_str(),
                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | (file.append ? 0 : O_TRUNC),
                          0666));
    }
    if (!target) {
      return failure(std::string("Could not open ") + (file.is_error ? "stderr" : "stdout") +
                     " file: " + std::strerror(errno));
    }
    pump_.direct(file.task, file.is_error, target.get());
  }
  labelled_files_.clear();
  return {};
}

Status StepIo::pipe_input(const Part& part, api::StepStream& stream, std::vector<os::UniqueFd>& to_send) {
  const Status done = pipe_tasks(part, true, stream, to_send, [&](uint32_t task, os::UniqueFd end) {
    pump_.add_input(std::move(end), task);
  });
  if (!done) return done;
  pump_.read_input_from(STDIN_FILENO);
  return {};
}

Status StepIo::open_terminal(api::StepSpec& spec, std::vector<os::UniqueFd>& to_send) {
  int master, slave;
  winsize size{};
  const bool has_size = ::ioctl(g_terminal, TIOCGWINSZ, &size) == 0;
  const bool has_terminal = ::tcgetattr(g_terminal, &g_terminal_before) == 0;
  if (::openpty(&master, &slave, nullptr, has_terminal ? &g_terminal_before : nullptr,
                has_size ? &size : nullptr) != 0) {
    return failure_from_errno("openpty", errno);
  }
  terminal_.reset(master);
  ::fcntl(master, F_SETFD, FD_CLOEXEC);
  ::fcntl(slave, F_SETFD, FD_CLOEXEC);
  for (api::StepStream* stream : {spec.mutable_stdin(), spec.mutable_stdout(), spec.mutable_stderr()}) {
    stream->set_first_descriptor(static_cast<uint32_t>(to_send.size()));
    stream->set_descriptors(1);
    stream->set_only_task(0);
  }
  to_send.emplace_back(slave);
  spec.set_pty(true);
  if (has_terminal) {
    termios raw = g_terminal_before;
    ::cfmakeraw(&raw);
    ::tcsetattr(g_terminal, TCSADRAIN, &raw);
    raw_terminal_ = true;
    std::atexit(restore_terminal);
    std::at_quick_exit(restore_terminal);
  }
  pump_.add_input(os::UniqueFd(::fcntl(master, F_DUPFD_CLOEXEC, 0)), 0);
  pump_.read_input_from(STDIN_FILENO);
  pump_.add_output(os::UniqueFd(::fcntl(master, F_DUPFD_CLOEXEC, 0)), 0, false,
                   LineWriter(STDOUT_FILENO, "", false));
  return {};
}

void StepIo::resize() {
  winsize size{};
  if (terminal_ && ::ioctl(g_terminal, TIOCGWINSZ, &size) == 0) ::ioctl(terminal_.get(), TIOCSWINSZ, &size);
}

// Returns the one task that a number names, if it is in this part.
std::optional<StepIo::Part> StepIo::only(const std::string& number) const {
  const auto task = static_cast<uint32_t>(std::strtoul(number.c_str(), nullptr, 10));
  if (task < part_.first_task || task >= part_.first_task + part_.tasks) return std::nullopt;
  return Part{task, 1, part_.all_tasks};
}

Status StepIo::set_up_input(const std::string& input, api::StepSpec& spec,
                            std::vector<os::UniqueFd>& to_send) {
  if (text::is_digits(input)) {
    const auto one = only(input);
    if (!one) return {};
    spec.mutable_stdin()->set_only_task(one->first_task - part_.first_task);
    return pipe_input(*one, *spec.mutable_stdin(), to_send);
  }
  if (!input.empty() && input != "all" && input != "none") {
    spec.mutable_stdin()->set_path(input);
    return {};
  }
  if (input == "none" || ::fcntl(STDIN_FILENO, F_GETFD) < 0 || is_null_device(STDIN_FILENO)) return {};
  return pipe_input(part_, *spec.mutable_stdin(), to_send);
}

Status StepIo::set_up_output(const submit::JobRequest& request, const std::string& path, int fd,
                             api::StepStream& stream, std::vector<os::UniqueFd>& to_send) {
  const bool is_error = fd == STDERR_FILENO;
  if (text::is_digits(path)) {
    const auto one = only(path);
    if (!one) {
      stream.set_path("/dev/null");
      return {};
    }
    stream.set_only_task(one->first_task - part_.first_task);
    return pipe_output(request, *one, fd, is_error, stream, to_send);
  }
  if (path.empty() || path == "all") return pipe_output(request, part_, fd, is_error, stream, to_send);
  if (request.label && path != "none" && path != "/dev/null")
    return pipe_to_file(request, part_, path, is_error, stream, to_send);
  stream.set_path(path == "none" ? "/dev/null" : path);
  return {};
}

Status StepIo::set_up(const submit::JobRequest& request, const Part& part, api::StepSpec& spec,
                      std::vector<os::UniqueFd>& to_send) {
  if (request.pty) {
    g_terminal = request.terminal;  // whose size and modes count; keys come from standard input
    return open_terminal(spec, to_send);
  }
  part_ = part;
  const model::JobSpec& job = request.spec;
  if (const Status done = set_up_input(job.stdin_path(), spec, to_send); !done) return done;
  if (const Status done =
          set_up_output(request, job.stdout_path(), STDOUT_FILENO, *spec.mutable_stdout(), to_send);
      !done)
    return done;
  // With a file for the output and none for errors, errors go to that file too.
  if (job.stderr_path().empty() && !spec.stdout().path().empty()) return {};
  const bool labelled_file = job.stderr_path().empty() && !labelled_files_.empty();
  return set_up_output(request, labelled_file ? job.stdout_path() : job.stderr_path(), STDERR_FILENO,
                       *spec.mutable_stderr(), to_send);
}

void StepIo::finish() {
  pump_.finish();
  if (raw_terminal_) restore_terminal();
  raw_terminal_ = false;
}

}  // namespace minke::cli
