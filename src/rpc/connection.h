// One side of a conversation in frames (rpc/frame.h), non-blocking, on an event loop. For daemon and
// launcher; commands use the blocking rpc/channel.h.
//
// Belongs to the event loop's thread. Callbacks may call send() and close(). No
// callback follows on_close.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/event_loop.h"
#include "os/fd.h"
#include "rpc/socket.h"

namespace google::protobuf {
class MessageLite;
}

namespace minke::rpc {

class Connection {
 public:
  struct Callbacks {
    // One whole frame and the descriptors that came with it.
    std::function<void(std::string_view frame, std::vector<os::UniqueFd> descriptors)> on_frame;
    // Called when the peer closes it (no error), or on an error: another protocol version (the message has
    // both), or a frame over the limit.
    std::function<void(Status why)> on_close;
    // Received data that is not handled yet takes memory, which these callbacks grant (unset: granted).
    // Called for a coming frame of so many bytes. False defers it: nothing is read until resume().
    std::function<bool(size_t bytes)> admit_frame = {};
    // Called for a whole frame. False defers it: nothing is read, nor handled, until go_on().
    std::function<bool()> may_handle = {};
    // Called with the number of descriptors held now. An error closes the connection.
    std::function<Status(size_t held)> hold_descriptors = {};
  };

  // Takes over the socket and sends the greeting. `max_frame_bytes` bounds incoming frames.
  static std::unique_ptr<Connection> start(os::EventLoop& loop, os::UniqueFd socket, size_t max_frame_bytes,
                                           Callbacks callbacks);
  virtual ~Connection() = default;  // closes; allowed inside callbacks

  virtual const Peer& peer() const = 0;
  // Queues a frame. The descriptors are duplicated or kept until sent. Never blocks.
  virtual void send(const google::protobuf::MessageLite& message,
                    std::vector<os::UniqueFd> descriptors = {}) = 0;
  virtual void flush() {}  // sends now what can be sent, without waiting for the end of the burst
  virtual size_t unsent_bytes() const = 0;
  // Asks admit_frame again after it returned false.
  virtual void resume() {}
  // Asks may_handle again after it returned false.
  virtual void go_on() {}
  // Called whenever the queue is empty: everything has been sent, or there is nobody to send it to any more.
  // For replies that are produced in pieces. Replaces the earlier callback; nullptr ends it.
  virtual void on_drained(std::function<void()> callback) = 0;
};

// Calls back with every connection made to a listening socket (rpc/socket.h). While this process has no
// descriptors to spare (os/descriptors.h), new clients wait.
std::unique_ptr<os::EventLoop::Watch> accept_on(os::EventLoop& loop, int listening_fd,
                                                std::function<void(os::UniqueFd)> on_connection);

}  // namespace minke::rpc
