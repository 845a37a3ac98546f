// A command's side of a conversation in frames (rpc/frame.h): blocking, with deadlines. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace google::protobuf {
class MessageLite;
}

namespace minke::rpc {

class Channel {
 public:
  // Errors: errno of connect(2) as the code.
  static Result<Channel> connect(const std::string& socket_path);
  explicit Channel(os::UniqueFd socket);

  // Sends one frame, with descriptors to pass along (they stay open here).
  Status send(const google::protobuf::MessageLite& message, std::span<const int> descriptors = {});

  // Receives one frame into `message`. Fails with ECONNRESET if the peer is gone; ETIMEDOUT; EPROTO if the
  // peer speaks another protocol version (the message says which), or sent an invalid message.
  Status receive(google::protobuf::MessageLite& message,
                 std::optional<std::chrono::milliseconds> timeout = std::nullopt);

  // Called again and again while receive() without a timeout gets nothing, first after some seconds.
  void when_silent(std::function<void()> work) { silent_ = std::move(work); }

  int fd() const { return socket_.get(); }
  bool has_buffered_frame() const;  // receive() would not wait

 private:
  Result<size_t> fill(std::optional<std::chrono::steady_clock::time_point> deadline);
  Status wait_for_input(std::optional<std::chrono::steady_clock::time_point> deadline);
  os::UniqueFd socket_;
  std::function<void()> silent_;
  std::string input_;
  size_t consumed_ = 0;
  bool greeting_sent_ = false;
  bool greeting_received_ = false;
};

}  // namespace minke::rpc
