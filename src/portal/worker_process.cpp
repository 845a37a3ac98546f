#include "portal/worker_process.h"

#include <malloc.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "os/pass_descriptors.h"
#include "portal/answering.h"
#include "portal/app_connection.h"
#include "portal/changes.h"
#include "portal/desk.h"
#include "portal/frames.h"
#include "portal/workers.h"
#include "view/text.h"

namespace minke::portal {
namespace {

constexpr size_t kThreads = 4, kConnectors = 4;
constexpr size_t kMostFrame = 2 * 1024 * 1024;  // of the front's: a request has its own bounds
constexpr int kBetweenLooks = 31'000;           // ms, until memory is given back

class Worker {
 public:
  explicit Worker(int channel)
      : channel_(channel),
        desk_(view::user_name_of(::getuid()), ::getuid(), true),
        changes_(desk_.queue(), [this](std::string name, std::string data) {
          send({.kind = FrameKind::kEvent, .number = 0, .name = std::move(name), .data = std::move(data)});
        }) {}

  void run() {
    FrameReader frames(kMostFrame);
    std::string buffer(64 * 1024, '\0');
    while (true) {
      pollfd ready{channel_, POLLIN, 0};
      const int got = ::poll(&ready, 1, holds_memory_ ? kBetweenLooks : -1);
      if (got < 0 && errno == EINTR) continue;
      if (got == 0) {
        holds_memory_ = desk_.queue().forget_unused();
        if (!holds_memory_) ::malloc_trim(0);
        continue;
      }
      const ssize_t bytes = ::recv(channel_, buffer.data(), buffer.size(), 0);
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes <= 0) return;
      frames.add(std::string_view(buffer).substr(0, static_cast<size_t>(bytes)));
      while (auto frame = frames.next()) take(std::move(*frame));
      if (frames.has_failed()) return;
    }
  }

 private:
  void take(Frame frame) {
    holds_memory_ = true;
    if (frame.kind == FrameKind::kListeners) return changes_.set_listeners(frame.number);
    if (frame.kind == FrameKind::kConnect) return connect(frame.number, frame.name);
    if (frame.kind != FrameKind::kAsk) return;
    const uint64_t number = frame.number;
    const auto asked = std::make_shared<Request>(std::move(frame.request));
    const Status read = read_target(*asked);
    const auto match = std::make_shared<Match>(read ? find_route(*asked) : Match());
    if (match->route == nullptr || match->route->answer == nullptr)
      return answer(number, error_reply(404, Error{0, "there is no such address"}));
    const bool added = workers_.add([this, number, asked, match](const Result<engine::Engine*>& cluster) {
      answer(number, reply_to(*asked, *match, cluster, desk_));
    });
    if (!added) answer(number, failed_reply(*match, 503, Error{0, "too much is asked at once; try again"}));
  }

  // The front speaks HTTP to the application, over a connection that is made with this person's rights.
  void connect(uint64_t number, const std::string& key) {
    const bool added = connectors_.add([this, number, key](const Result<engine::Engine*>&) {
      const auto made = connect_to_app(key);
      if (!made)
        return answer(
            number, {.status = status_of(made.error()), .type = "text/plain", .body = made.error().message});
      Frame frame{.kind = FrameKind::kConnected, .number = number};
      frame.name = made->strips_address ? "strip" : "";
      frame.data = made->header;
      send(frame, made->socket.get());
    });
    if (!added)
      answer(number, {.status = 503, .type = "text/plain", .body = "too much is asked at once; try again"});
  }

  void answer(uint64_t number, Reply reply) {
    Frame frame{.kind = FrameKind::kReply, .number = number};
    frame.reply = std::move(reply);
    send(frame);
  }

  // From any thread. A front that is gone is seen where its frames are read.
  void send(const Frame& frame, int beside = -1) {
    const std::string bytes = frame_bytes(frame);
    std::vector<int> descriptors;
    if (beside >= 0) descriptors.push_back(beside);
    const std::lock_guard lock(sending_);
    std::string_view left = bytes;
    while (!left.empty()) {
      const ssize_t sent = os::send_bytes(channel_, left, descriptors, MSG_NOSIGNAL);
      if (sent <= 0) return;
      descriptors.clear();
      left.remove_prefix(static_cast<size_t>(sent));
    }
  }

  const int channel_;
  std::mutex sending_;
  Desk desk_;
  bool holds_memory_ = false;
  Changes changes_;
  Workers workers_{kThreads};
  Workers connectors_{kConnectors, false};
};

}  // namespace

int run_worker(int channel) {
  // Never destroyed: its threads may wait for the cluster.
  static auto* const worker = new Worker(channel);
  worker->run();
  std::_Exit(0);
}

}  // namespace minke::portal
