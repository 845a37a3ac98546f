#include "rpc/channel.h"

#include <google/protobuf/message_lite.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "os/pass_descriptors.h"
#include "rpc/frame.h"
#include "rpc/socket.h"

namespace minke::rpc {

Result<Channel> Channel::connect(const std::string& socket_path) {
  auto socket = connect_to(socket_path);
  if (!socket) return failure(socket.error());
  return Channel(std::move(*socket));
}

Channel::Channel(os::UniqueFd socket) : socket_(std::move(socket)) {}

Status Channel::send(const google::protobuf::MessageLite& message, std::span<const int> descriptors) {
  if (!greeting_sent_) {
    const std::string hello = greeting();
    if (os::send_bytes(socket_.get(), hello, {}, 0) < 0) return failure_from_errno("send", errno);
    greeting_sent_ = true;
  }
  std::string bytes = frame_header({message.ByteSizeLong(), descriptors.size()});
  message.AppendToString(&bytes);
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const auto some = descriptors.first(std::min(descriptors.size(), os::kMaxDescriptorsAtOnce));
    // More of them follow with the next byte.
    const size_t bytes_now = some.size() < descriptors.size() ? 1 : rest.size();
    const ssize_t sent = os::send_bytes(socket_.get(), rest.substr(0, bytes_now), some, 0);
    if (sent < 0) return failure_from_errno("send", errno == EPIPE ? ECONNRESET : errno);
    rest.remove_prefix(static_cast<size_t>(sent));
    descriptors = descriptors.subspan(some.size());
  }
  return {};
}

bool Channel::has_buffered_frame() const {
  if (!greeting_received_) return false;
  const std::string_view input = std::string_view(input_).substr(consumed_);
  return input.size() >= kFrameHeaderBytes &&
         input.size() - kFrameHeaderBytes >= parse_frame_header(input).message_bytes;
}

Status Channel::wait_for_input(std::optional<std::chrono::steady_clock::time_point> deadline) {
  constexpr std::chrono::milliseconds kSilence{10'000};
  for (;;) {
    std::chrono::milliseconds left = kSilence;
    if (deadline) {
      left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) return failure_from_errno("receive", ETIMEDOUT);
    }
    pollfd descriptor{socket_.get(), POLLIN, 0};
    const int ready = ::poll(&descriptor, 1, static_cast<int>(std::min<int64_t>(left.count(), 1'000'000)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return failure_from_errno("poll", errno);
    if (ready == 0 && !deadline) silent_();
  }
}

Result<size_t> Channel::fill(std::optional<std::chrono::steady_clock::time_point> deadline) {
  if (deadline || silent_)
    if (const Status ready = wait_for_input(deadline); !ready) return failure(ready.error());
  char buffer[64 << 10];
  std::vector<os::UniqueFd> unexpected_descriptors;
  const ssize_t received =
      os::receive_bytes(socket_.get(), buffer, sizeof(buffer), unexpected_descriptors, 0);
  if (received < 0) return failure_from_errno("receive", errno);
  if (received == 0) return failure_from_errno("receive", ECONNRESET);
  if (consumed_ > 0 && consumed_ == input_.size()) {
    input_.clear();
    consumed_ = 0;
  }
  input_.append(buffer, static_cast<size_t>(received));
  return static_cast<size_t>(received);
}

Status Channel::receive(google::protobuf::MessageLite& message,
                        std::optional<std::chrono::milliseconds> timeout) {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  if (timeout) deadline = std::chrono::steady_clock::now() + *timeout;
  while (!greeting_received_) {
    if (input_.size() < kGreetingBytes) {
      auto filled = fill(deadline);
      if (!filled) return failure(filled.error());
      continue;
    }
    const uint16_t version = parse_greeting(input_);
    if (version != kProtocolVersion) return failure(version_mismatch(version), EPROTO);
    greeting_received_ = true;
    consumed_ = kGreetingBytes;
  }
  while (!has_buffered_frame()) {
    const std::string_view input = std::string_view(input_).substr(consumed_);
    if (input.size() >= kFrameHeaderBytes && parse_frame_header(input).message_bytes > kMaxReplyBytes) {
      return failure("the reply is over the limit of " + std::to_string(kMaxReplyBytes) + " bytes", EPROTO);
    }
    auto filled = fill(deadline);
    if (!filled) return failure(filled.error());
  }
  const std::string_view input = std::string_view(input_).substr(consumed_);
  const size_t length = parse_frame_header(input).message_bytes;
  if (!message.ParseFromArray(input.data() + kFrameHeaderBytes, static_cast<int>(length))) {
    return failure("the reply is no message of this protocol", EPROTO);
  }
  consumed_ += kFrameHeaderBytes + length;
  return {};
}

}  // namespace minke::rpc
