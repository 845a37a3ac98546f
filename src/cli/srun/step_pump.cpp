#include "cli/srun/step_pump.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "api/attach.pb.h"
#include "api/steps.pb.h"
#include "rpc/socket.h"

namespace minke::cli {

namespace {

constexpr size_t kBufferBytes = 64 << 10;
constexpr size_t kLongestLine = 64 << 10;  // a longer one is passed on in pieces
// A new sattach gets the output before it: so many of the last pieces, up to this size.
constexpr size_t kRecentPieces = 128, kRecentBytes = 256 << 10;
// A sattach that reads nothing for this long is dropped: the tasks' output must not wait for it.
constexpr timeval kAttachedPatience = {2, 0};
// A terminal that we may not read just now is tried again after this.
constexpr int kBackgroundMilliseconds = 500;

bool is_in_background(int fd) {
  const pid_t foreground = ::tcgetpgrp(fd);
  return foreground > 0 && foreground != ::getpgrp();
}

}  // namespace

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      pollfd full{fd, POLLOUT, 0};
      ::poll(&full, 1, -1);
      continue;
    }
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::string task_label(uint32_t task, uint32_t tasks) {
  std::string label = std::to_string(task);
  const size_t width = std::to_string(std::max(tasks, 1U) - 1).size();
  label.insert(0, width - std::min(width, label.size()), ' ');
  return label + ": ";
}

void LineWriter::write(std::string_view bytes) {
  if (!whole_lines_) {
    write_all(to_, bytes);
    return;
  }
  std::string whole;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end == std::string_view::npos ? end : end + 1);
    line_ += piece;
    bytes.remove_prefix(piece.size());
    if (end == std::string_view::npos && line_.size() < kLongestLine) break;
    whole += label_ + line_;
    line_.clear();
  }
  write_all(to_, whole);
}

void LineWriter::finish() {
  if (!line_.empty()) write_all(to_, label_ + line_ + (label_.empty() ? "" : "\n"));
  line_.clear();
}

void StepPump::add_output(os::UniqueFd from, uint32_t task, bool is_error, LineWriter to) {
  ::fcntl(from.get(), F_SETFL, ::fcntl(from.get(), F_GETFL) | O_NONBLOCK);
  outputs_.push_back({std::move(from), task, is_error, std::move(to)});
}

void StepPump::add_input(os::UniqueFd to, uint32_t task) {
  ::fcntl(to.get(), F_SETFL, ::fcntl(to.get(), F_GETFL) | O_NONBLOCK);
  inputs_.push_back({std::move(to), task, {}});
}

void StepPump::start() {
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  thread_ = std::thread([this] { run(); });
}

void StepPump::post(std::function<void()> what) {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(what));
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
}

void StepPump::attach(std::string socket_path) {
  post([this, path = std::move(socket_path)] {
    auto socket = rpc::connect_to(path);
    // Every reader at the other end sees the tasks' output.
    if (!socket) return;
    const uid_t uid = rpc::peer_of(socket->get()).uid;
    if (uid != ::geteuid() && uid != 0) return;
    ::setsockopt(socket->get(), SOL_SOCKET, SO_SNDTIMEO, &kAttachedPatience, sizeof(kAttachedPatience));
    attached_.push_back({rpc::Channel(std::move(*socket))});
    const auto tell = [this](const api::AttachMessage& message) {
      attached_.back().gone = attached_.back().gone || !attached_.back().channel.send(message);
    };
    for (const api::AttachMessage& message : recent_) tell(message);
    for (const api::StepTaskExit& exit : exits_) {
      api::AttachMessage message;
      *message.mutable_exit() = exit;
      tell(message);
    }
  });
}

void StepPump::direct(uint32_t task, bool is_error, int fd) {
  post([this, task, is_error, fd] {
    for (Output& output : outputs_) {
      if (output.task == task && output.is_error == is_error && !output.to.has_target())
        output.to.set_target(fd);
    }
  });
}

void StepPump::task_ended(const api::StepTaskExit& exit) {
  post([this, exit] {
    exits_.push_back(exit);
    // The task's output before its end comes first.
    for (Output& output : outputs_) {
      if (output.task == exit.rank() && output.from && !read_output(output)) output.from.reset();
    }
    api::AttachMessage message;
    *message.mutable_exit() = exit;
    tell_attached(message);
  });
}

void StepPump::finish() {
  if (!thread_.joinable()) return;
  post([this] { finishing_ = true; });
  thread_.join();
}

void StepPump::do_posted() {
  std::vector<std::function<void()>> posted;
  {
    const std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
  for (const auto& what : posted) what();
}

// Input that waits for one task also delays the others': all of them get the same.
bool StepPump::input_is_wanted() const {
  return input_ >= 0 && !inputs_.empty() &&
         std::all_of(inputs_.begin(), inputs_.end(), [](const Input& one) { return one.waiting.empty(); });
}

// The order in which serve() polls: wake-up, input, outputs, inputs, each attached client.
std::vector<pollfd> StepPump::descriptors(bool reads_input) const {
  std::vector<pollfd> waiting = {{wake_.get(), POLLIN, 0}, {reads_input ? input_ : -1, POLLIN, 0}};
  for (const Output& output : outputs_)
    waiting.push_back({output.to.has_target() ? output.from.get() : -1, POLLIN, 0});
  for (const Input& input : inputs_)
    waiting.push_back({input.waiting.empty() ? -1 : input.to.get(), POLLOUT, 0});
  for (const Attached& attached : attached_) waiting.push_back({attached.channel.fd(), POLLIN, 0});
  return waiting;
}

void StepPump::serve(const std::vector<pollfd>& waiting) {
  size_t at = 2;
  for (Output& output : outputs_) {
    if (waiting[at++].revents != 0 && !read_output(output)) output.from.reset();
  }
  for (Input& input : inputs_) {
    if (waiting[at++].revents != 0) write_input(input);
  }
  for (Attached& attached : attached_) {
    if (waiting[at++].revents != 0) read_attached(attached);
  }
  if (waiting[1].revents != 0) read_input();
  if (waiting[0].revents != 0) {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof(count));
    do_posted();
  }
}

void StepPump::drop_ended() {
  for (Output& output : outputs_) {
    if (!output.from) output.to.finish();
  }
  outputs_.remove_if([](const Output& output) { return !output.from; });
  inputs_.remove_if([](const Input& input) { return !input.to; });
  attached_.remove_if([](const Attached& attached) { return attached.gone; });
}

void StepPump::run() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  while (!finishing_) {
    const bool wanted = input_is_wanted();
    const bool background = wanted && is_in_background(input_);
    std::vector<pollfd> waiting = descriptors(wanted && !background);
    if (::poll(waiting.data(), waiting.size(), background ? kBackgroundMilliseconds : -1) < 0) continue;
    serve(waiting);
    drop_ended();
  }
  for (Output& output : outputs_) {
    read_output(output);
    output.to.finish();
  }
}

void StepPump::remember(const api::AttachMessage& message) {
  recent_.push_back(message);
  recent_bytes_ += message.output().data().size();
  while (recent_.size() > kRecentPieces || recent_bytes_ > kRecentBytes) {
    recent_bytes_ -= recent_.front().output().data().size();
    recent_.pop_front();
  }
}

bool StepPump::read_output(Output& output) {
  if (!output.to.has_target()) return true;
  char buffer[kBufferBytes];
  for (;;) {
    const ssize_t got = ::read(output.from.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) return false;  // EIO: the last holder of a terminal's other side is gone
    const std::string_view bytes(buffer, static_cast<size_t>(got));
    output.to.write(bytes);
    api::AttachMessage message;
    message.mutable_output()->set_rank(output.task);
    message.mutable_output()->set_is_error(output.is_error);
    message.mutable_output()->set_data(bytes.data(), bytes.size());
    tell_attached(message);
    remember(message);
    if (bytes.size() < sizeof(buffer) && !finishing_) return true;
  }
}

void StepPump::read_input() {
  char buffer[kBufferBytes];
  const ssize_t got = ::read(input_, buffer, sizeof(buffer));
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got < 0 && errno == EIO && is_in_background(input_)) return;
  if (got <= 0) return end_input();
  for (Input& input : inputs_) {
    input.waiting.append(buffer, static_cast<size_t>(got));
    write_input(input);
  }
}

void StepPump::end_input() {
  input_ = -1;
  for (Input& input : inputs_) {
    input.at_end = true;
    write_input(input);
  }
}

void StepPump::write_input(Input& input) {
  while (input.to && !input.waiting.empty()) {
    const ssize_t written = ::write(input.to.get(), input.waiting.data(), input.waiting.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return;
    if (written <= 0) {
      input.to.reset();  // the task has stopped reading
    } else {
      input.waiting.erase(0, static_cast<size_t>(written));
    }
  }
  if (input.at_end && input.waiting.empty()) input.to.reset();
}

void StepPump::read_attached(Attached& attached) {
  do {
    api::AttachMessage message;
    if (!attached.channel.receive(message, std::chrono::seconds(kAttachedPatience.tv_sec))) {
      attached.gone = true;
      return;
    }
    if (!message.has_input()) continue;
    for (Input& input : inputs_) {
      if (message.input().has_rank() && message.input().rank() != input.task) continue;
      if (input.waiting.size() > kBufferBytes) continue;  // the task does not read
      input.waiting += message.input().data();
      write_input(input);
    }
  } while (attached.channel.has_buffered_frame());
}

void StepPump::tell_attached(const api::AttachMessage& message) {
  for (Attached& attached : attached_) {
    if (!attached.gone && !attached.channel.send(message)) attached.gone = true;
  }
}

}  // namespace minke::cli
