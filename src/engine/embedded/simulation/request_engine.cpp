#include "engine/embedded/simulation/request_engine.h"

#include <sys/socket.h>
#include <unistd.h>

#include "rpc/connection.h"
#include "rpc/messages.pb.h"

namespace minke::engine::simulation {

struct RequestEngine::Pipe {
  rpc::Connection::Callbacks callbacks;
};

// The server's end of a connection in memory.
class RequestEngine::MemoryConnection final : public rpc::Connection {
 public:
  MemoryConnection(rpc::Peer peer, std::shared_ptr<Pipe> pipe, OnAnswer on_answer)
      : peer_(peer), pipe_(std::move(pipe)), on_answer_(std::move(on_answer)) {}
  const rpc::Peer& peer() const override { return peer_; }
  void send(const google::protobuf::MessageLite& message, std::vector<os::UniqueFd>) override {
    on_answer_(peer_.uid, static_cast<const rpc::ServerMessage&>(message));
  }
  void flush() override {}
  size_t unsent_bytes() const override { return 0; }
  void resume() override {}
  void on_drained(std::function<void()>) override {}

 private:
  rpc::Peer peer_;
  std::shared_ptr<Pipe> pipe_;
  OnAnswer on_answer_;
};

void RequestEngine::send(uint32_t uid, const std::string& frame) {
  if (connections_[uid].expired()) connect(uid);
  if (const auto connection = connections_[uid].lock()) connection->callbacks.on_frame(frame, {});
  settle();
}

void RequestEngine::hang_up(uint32_t uid) {
  if (const auto connection = connections_[uid].lock()) connection->callbacks.on_close({});
  connections_.erase(uid);
  settle();
}

void RequestEngine::connect(uint32_t uid) {
  rpc::Peer peer;
  peer.pid = ::getpid();
  peer.uid = uid;
  peer.gid = uid;
  if (own_end_) {
    peer.socket = own_end_.get();
    peer.connected_ticks = ~uint64_t{0};
  }
  server_->admit(peer, [&](rpc::Connection::Callbacks callbacks) {
    auto pipe = std::make_shared<Pipe>(Pipe{std::move(callbacks)});
    connections_[uid] = pipe;
    return std::make_unique<MemoryConnection>(peer, std::move(pipe), on_answer_);
  });
}

}  // namespace minke::engine::simulation
