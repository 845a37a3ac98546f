// What the front of a shared portal and the worker of a person say to each other, as frames over a stream: a
// length, a kind, and fields whose lengths come first. Each side takes the other for a stranger: what does
// not fit its bounds ends the connection. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "portal/message.h"

namespace minke::portal {

enum class FrameKind : uint8_t {
  kAsk = 1,        // front: a request, with a number of its own
  kListeners = 2,  // front: `number` pages listen
  kReply = 3,      // worker: to the request of this number
  kEvent = 4,      // worker: `name` and `data` for all who listen
  kConnect = 5,    // front: a way to the application of the session `name`, with a number of its own
  kConnected = 6,  // worker: to the request of this number, with the socket beside it; its header is `data`,
                   // and `name` is "strip" if its pages begin at "/"
};

struct Frame {
  FrameKind kind = FrameKind::kAsk;
  uint64_t number = 0;
  Request request = {};  // of kAsk: method, target, accept-encoding and body; its target is not split yet
  Reply reply = {};      // of kReply
  std::string name = {}, data = {};
};

std::string frame_bytes(const Frame& frame);

// Collects what comes until a frame is there.
class FrameReader {
 public:
  explicit FrameReader(size_t most) : most_(most) {}

  void add(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole frame; none: more must come, or has_failed().
  std::optional<Frame> next();
  bool has_failed() const { return has_failed_; }

 private:
  const size_t most_;  // bytes of a frame
  std::string buffer_;
  bool has_failed_ = false;
};

}  // namespace minke::portal
