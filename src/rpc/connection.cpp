#include "rpc/connection.h"

#include <fcntl.h>
#include <google/protobuf/message_lite.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <utility>

#include "os/descriptors.h"
#include "os/pass_descriptors.h"
#include "rpc/frame.h"

namespace minke::rpc {

namespace {

class SocketConnection final : public Connection {
 public:
  SocketConnection(os::EventLoop& loop, os::UniqueFd socket, size_t max_frame_bytes, Callbacks callbacks)
      : loop_(loop),
        socket_(std::move(socket)),
        peer_(peer_of(socket_.get())),
        max_frame_bytes_(max_frame_bytes),
        callbacks_(std::move(callbacks)) {
    ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
    watch();
    output_.push_back({greeting(), {}});
    unsent_ = kGreetingBytes;
    flush();
  }

  const Peer& peer() const override { return peer_; }

  void send(const google::protobuf::MessageLite& message, std::vector<os::UniqueFd> descriptors) override {
    if (closed_) return;
    const FrameHeader header{message.ByteSizeLong(), descriptors.size()};
    const size_t size = header.message_bytes;
    // Small messages share a chunk; one with descriptors starts its own, because they go with its first byte.
    if (output_.empty() || !descriptors.empty() || output_.back().bytes.size() > kChunkBytes) {
      output_.push_back({{}, std::move(descriptors)});
    }
    std::string& bytes = output_.back().bytes;
    const size_t start = bytes.size();
    bytes.append(frame_header(header));
    bytes.resize(start + kFrameHeaderBytes + size);
    message.SerializeWithCachedSizesToArray(
        reinterpret_cast<uint8_t*>(bytes.data() + start + kFrameHeaderBytes));
    unsent_ += kFrameHeaderBytes + size;
    // Sending waits for the end of the burst, so that messages of a burst travel together.
    if (!flush_scheduled_ && !writable_) {
      flush_scheduled_ = true;
      loop_.defer([this, alive = std::weak_ptr<bool>(alive_)] {
        if (alive.expired()) return;
        flush_scheduled_ = false;
        flush();
      });
    }
  }

  size_t unsent_bytes() const override { return unsent_; }
  void on_drained(std::function<void()> callback) override { drained_ = std::move(callback); }

  void resume() override {
    if (closed_ || !std::exchange(waits_for_room_, false)) return;
    handle_frames();
  }

  void go_on() override {
    if (closed_ || !std::exchange(held_, false)) return;
    handle_frames();
  }

  void flush() override {
    while (!output_.empty() && !closed_) {
      Chunk& chunk = output_.front();
      const auto end = chunk.descriptors.begin() +
                       static_cast<ptrdiff_t>(std::min(chunk.descriptors.size(), os::kMaxDescriptorsAtOnce));
      std::vector<int> descriptors;
      for (auto fd = chunk.descriptors.begin(); fd != end; ++fd) descriptors.push_back(fd->get());
      std::string_view rest = std::string_view(chunk.bytes).substr(sent_of_front_);
      if (end != chunk.descriptors.end()) rest = rest.substr(0, 1);  // more of them follow with the next byte
      const ssize_t sent = os::send_bytes(socket_.get(), rest, descriptors, MSG_DONTWAIT);
      if (sent < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
          if (!writable_) writable_ = loop_.on_writable(socket_.get(), [this] { flush(); });
          return;
        }
        // The reading side reports the loss, after the peer's last frames; here there is only
        // nobody left to send to.
        output_.clear();
        unsent_ = sent_of_front_ = 0;
        break;
      }
      chunk.descriptors.erase(chunk.descriptors.begin(), end);
      sent_of_front_ += static_cast<size_t>(sent);
      unsent_ -= static_cast<size_t>(sent);
      if (sent_of_front_ == chunk.bytes.size()) {
        output_.pop_front();
        sent_of_front_ = 0;
      }
    }
    writable_.reset();
    if (drained_ && !closed_) {
      auto callback = drained_;
      callback();
    }
  }

 private:
  static constexpr size_t kChunkBytes = 256 << 10;

  struct Chunk {
    std::string bytes;
    std::vector<os::UniqueFd> descriptors;
  };

  void close_with(Status why) {
    if (closed_) return;
    closed_ = true;
    readable_.reset();
    writable_.reset();
    auto on_close = std::move(callbacks_.on_close);
    if (on_close) on_close(std::move(why));  // may destroy this
  }

  void watch() {
    if (!readable_) readable_ = loop_.on_readable(socket_.get(), [this] { receive(); });
  }

  void receive() {
    // A client that sends one request at a time never comes here: there is nothing to be read yet.
    if (held_) return readable_.reset();
    char buffer[64 << 10];
    const ssize_t received =
        os::receive_bytes(socket_.get(), buffer, sizeof(buffer), descriptors_, MSG_DONTWAIT);
    if (received < 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) close_with(failure_from_errno("receive", errno));
      return;
    }
    if (received == 0) {
      close_with(input_.size() == handled_ ? Status() : failure("the message was cut off", EPROTO));
      return;
    }
    if (const Status held = check_descriptors(); !held) return close_with(held);
    input_.append(buffer, static_cast<size_t>(received));
    if (!greeted_) {
      if (input_.size() < kGreetingBytes) return;
      const uint16_t version = parse_greeting(input_);
      if (version != kProtocolVersion) {
        close_with(failure(version_mismatch(version), EPROTO));
        return;
      }
      greeted_ = true;
      input_.erase(0, kGreetingBytes);
    }
    handle_frames();
  }

  // Descriptors come with the first bytes of their frame, or the last ones of the frame before.
  Status check_descriptors() {
    if (descriptors_.size() > kMaxDescriptors + os::kMaxDescriptorsAtOnce)
      return failure("too many descriptors", EPROTO);
    if (descriptors_.empty() || !callbacks_.hold_descriptors) return {};
    const bool spare = std::all_of(descriptors_.begin(), descriptors_.end(),
                                   [](const auto& one) { return os::is_spare_descriptor(one.get()); });
    if (!spare) return failure("the daemon has no descriptors to spare", EMFILE);
    return callbacks_.hold_descriptors(descriptors_.size());
  }

  void handle_frames() {
    const std::weak_ptr<bool> alive = alive_;
    while (input_.size() - handled_ >= kFrameHeaderBytes) {
      const FrameHeader header = parse_frame_header(std::string_view(input_).substr(handled_));
      const size_t length = header.message_bytes;
      if (length > max_frame_bytes_) {
        close_with(failure("a message of " + std::to_string(length) + " bytes is over the limit of " +
                               std::to_string(max_frame_bytes_),
                           EMSGSIZE));
        return;
      }
      if (header.descriptors > kMaxDescriptors)
        return close_with(failure("a message announces too many descriptors", EPROTO));
      if (length > kSmallFrameBytes && !admitted_) {
        admitted_ = !callbacks_.admit_frame || callbacks_.admit_frame(length);
        if (!admitted_) {
          waits_for_room_ = true;
          readable_.reset();
          break;
        }
      }
      if (input_.size() - handled_ < kFrameHeaderBytes + length) {
        if (admitted_) input_.reserve(handled_ + kFrameHeaderBytes + length);
        break;
      }
      if (callbacks_.may_handle && !callbacks_.may_handle()) {
        held_ = true;
        break;
      }
      if (!hand_over(header)) return;
      if (alive.expired() || closed_) return;
    }
    drop_handled();
    if (!held_ && !waits_for_room_) watch();
  }

  // Passes on the next whole frame. Returns false if there is none.
  bool hand_over(const FrameHeader& header) {
    admitted_ = false;
    const std::string_view frame =
        std::string_view(input_).substr(handled_ + kFrameHeaderBytes, header.message_bytes);
    handled_ += kFrameHeaderBytes + header.message_bytes;
    if (header.descriptors > descriptors_.size()) {
      close_with(failure("a message came without the descriptors it announced", EPROTO));
      return false;
    }
    const auto end = descriptors_.begin() + static_cast<ptrdiff_t>(header.descriptors);
    std::vector<os::UniqueFd> own(std::make_move_iterator(descriptors_.begin()),
                                  std::make_move_iterator(end));
    descriptors_.erase(descriptors_.begin(), end);
    if (!own.empty() && callbacks_.hold_descriptors) {
      [[maybe_unused]] const Status fewer = callbacks_.hold_descriptors(descriptors_.size());
    }
    callbacks_.on_frame(frame, std::move(own));
    return true;
  }

  // Not after each of many small frames. The memory of a large frame is freed: connections live long.
  void drop_handled() {
    if (held_ && handled_ < kChunkBytes) return;
    if (handled_ > 0 && input_.capacity() > kChunkBytes && input_.size() - handled_ <= kChunkBytes) {
      input_ = std::string(input_, handled_);
    } else {
      input_.erase(0, handled_);
    }
    handled_ = 0;
  }

  os::EventLoop& loop_;
  os::UniqueFd socket_;
  Peer peer_;
  size_t max_frame_bytes_;
  Callbacks callbacks_;
  std::unique_ptr<os::EventLoop::Watch> readable_;
  std::unique_ptr<os::EventLoop::Watch> writable_;
  std::function<void()> drained_;
  std::deque<Chunk> output_;
  size_t sent_of_front_ = 0;
  size_t unsent_ = 0;
  bool flush_scheduled_ = false;
  std::string input_;
  size_t handled_ = 0;  // bytes of it
  std::vector<os::UniqueFd> descriptors_;
  bool greeted_ = false;
  bool admitted_ = false;        // the incoming frame, which is not a small one
  bool waits_for_room_ = false;  // for it: resume()
  bool held_ = false;            // a whole frame: go_on()
  bool closed_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<Connection> Connection::start(os::EventLoop& loop, os::UniqueFd socket,
                                              size_t max_frame_bytes, Callbacks callbacks) {
  return std::make_unique<SocketConnection>(loop, std::move(socket), max_frame_bytes, std::move(callbacks));
}

namespace {

class Accepting : public os::EventLoop::Watch {
 public:
  Accepting(os::EventLoop& loop, int listening_fd, std::function<void(os::UniqueFd)> on_connection)
      : loop_(loop),
        listening_fd_(listening_fd),
        on_connection_(std::move(on_connection)),
        pause_(loop.make_timer([this] { listen(); })) {
    listen();
  }

 private:
  static constexpr std::chrono::milliseconds kPause{50};
  static constexpr int kMostAtOnce = 64;

  void listen() {
    readable_ = loop_.on_readable(listening_fd_, [this] { accept(); });
  }

  // A level-triggered watch would report pending clients again and again.
  void pause() {
    readable_.reset();
    pause_->set_after(kPause);
  }

  void accept() {
    const std::weak_ptr<bool> alive = alive_;
    // Connected clients have their turn in between; the remaining ones are reported again.
    for (int taken = 0; taken < kMostAtOnce; ++taken) {
      if (!os::has_spare_descriptors()) return pause();
      os::UniqueFd socket(::accept4(listening_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) {
        if (errno == ECONNABORTED || errno == EINTR) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) pause();
        return;
      }
      on_connection_(std::move(socket));
      if (alive.expired()) return;
    }
  }

  os::EventLoop& loop_;
  int listening_fd_;
  std::function<void(os::UniqueFd)> on_connection_;
  std::unique_ptr<os::EventLoop::Watch> readable_;
  std::unique_ptr<os::EventLoop::Timer> pause_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<os::EventLoop::Watch> accept_on(os::EventLoop& loop, int listening_fd,
                                                std::function<void(os::UniqueFd)> on_connection) {
  return std::make_unique<Accepting>(loop, listening_fd, std::move(on_connection));
}

}  // namespace minke::rpc
