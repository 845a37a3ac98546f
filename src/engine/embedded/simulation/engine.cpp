#include "engine/embedded/simulation/engine.h"

#include <sys/socket.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "api/daemon.pb.h"
#include "api/submission.pb.h"
#include "engine/embedded/recovery.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "rpc/messages.pb.h"
#include "store/store.h"

namespace minke::engine::simulation {

using namespace model;

config::Configuration simulated_configuration(const std::string& home, uint32_t cpus) {
  constexpr uint64_t kMemoryMib = 64000;
  NodeRecord node;
  node.set_name("node1");
  node.set_cpus(cpus);
  node.set_sockets(1);
  node.set_cores_per_socket(cpus);
  node.set_threads_per_core(1);
  node.set_memory_mib(kMemoryMib);
  auto config = config::parse_configuration("", home + "/minke.toml", node);
  MINKE_CHECK(config.has_value());
  config->home = home;
  config->tmp_root = home + "/tmp";
  config->measuring_interval = 0;  // measuring has a thread and looks at real processes
  return *config;
}

api::SubmitRequest batch_request(const std::string& key, const std::string& program,
                                 const std::string& home) {
  api::SubmitRequest request;
  request.set_key(key);
  request.set_script("#!/bin/sh\n# " + program + "\n");
  request.set_environment(std::string("PATH=/usr/bin:/bin\0", 19));
  JobSpec& spec = *request.mutable_spec();
  spec.set_name("simulated");
  spec.set_work_dir(home);
  spec.add_arguments("job.sh");
  spec.set_stdout_path("/dev/null");
  return request;
}

// ---- connections -----------------------------------------------------------------------------------

class Client::ServerEnd final : public rpc::Connection {
 public:
  explicit ServerEnd(std::shared_ptr<Wire> wire) : wire_(std::move(wire)) {}
  ~ServerEnd() override { lost(wire_); }
  const rpc::Peer& peer() const override { return wire_->peer; }
  void send(const google::protobuf::MessageLite& message, std::vector<os::UniqueFd>) override {
    Wire& wire = *wire_;
    wire.to_client = std::max(wire.to_client, wire.agenda->now() + wire.delay());
    wire.agenda->at(wire.to_client, [weak = std::weak_ptr<Wire>(wire_), frame = message.SerializeAsString()] {
      const auto still = weak.lock();
      if (still && still->connected && still->client != nullptr) still->client->received(frame);
    });
    if (drained_)
      wire.loop->post([this, alive = std::weak_ptr<bool>(alive_)] {
        if (!alive.expired() && drained_) drained_();
      });
  }
  size_t unsent_bytes() const override { return 0; }
  void on_drained(std::function<void()> callback) override {
    drained_ = std::move(callback);
    if (drained_)
      wire_->loop->post([this, alive = std::weak_ptr<bool>(alive_)] {
        if (!alive.expired() && drained_) drained_();
      });
  }

 private:
  std::shared_ptr<Wire> wire_;
  std::function<void()> drained_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

void Client::lost(const std::shared_ptr<Wire>& wire) {
  if (!std::exchange(wire->connected, false)) return;
  wire->agenda->after(wire->delay(), [wire] {
    if (wire->client == nullptr || !wire->client->on_lost) return;
    const auto tell = std::move(wire->client->on_lost);
    tell();  // may destroy the client
  });
}

Client::~Client() {
  wire_->client = nullptr;
  if (!std::exchange(wire_->connected, false)) return;
  if (wire_->loop != nullptr && wire_->server.on_close)
    wire_->loop->post([wire = wire_] {
      if (wire->server.on_close) wire->server.on_close({});
    });
}

void Client::ask(rpc::ClientMessage message, Answer answer) {
  message.set_request_id(++last_id_);
  asked_[last_id_] = std::move(answer);
  Wire& wire = *wire_;
  wire.to_server = std::max(wire.to_server, wire.agenda->now() + wire.delay());
  wire.agenda->at(wire.to_server, [weak = std::weak_ptr<Wire>(wire_), frame = message.SerializeAsString()] {
    const auto still = weak.lock();
    if (!still || !still->connected) return;
    still->loop->post([still, frame] {
      if (still->connected) still->server.on_frame(frame, {});
    });
  });
}

void Client::received(const std::string& frame) {
  rpc::ServerMessage message;
  MINKE_CHECK(message.ParseFromString(frame));
  const auto asked = asked_.find(message.request_id());
  if (asked == asked_.end()) return;
  const Answer answer = asked->second;
  if (message.last()) asked_.erase(asked);
  if (answer) answer(message);
}

// ---- Engine ----------------------------------------------------------------------------------------

Engine::Engine(Agenda& agenda, LauncherHost& launcher, Options options)
    : agenda_(agenda), host_(launcher), options_(std::move(options)) {
  if (!options_.commit_delay) options_.commit_delay = [] { return std::chrono::milliseconds(1); };
  if (!options_.message_delay) options_.message_delay = [] { return std::chrono::milliseconds(0); };
  if (!host_.delay) host_.delay = [] { return std::chrono::milliseconds(0); };
}

Engine::~Engine() {
  die();
}

Status Engine::start() {
  const std::string& home = options_.config.home;
  auto opened = store::Store::open(os::database_path(home));
  if (!opened) return failure(opened.error());
  store_ = std::make_unique<SimulatedStore>(agenda_, std::move(*opened), options_.commit_delay);
  if (const Status made = os::make_directories(options_.config.tmp_root, 0700); !made) return made;
  core_ = std::make_unique<Core>(loop_, options_.config, *store_, [this] { return host_.machine.now(); });
  restart_ = std::make_unique<Restart>(*core_);
  if (const Status loaded = restart_->load(options_.boot_id); !loaded) return loaded;
  launcher_ = make_simulated_launcher(loop_, host_, core_->recovery->callbacks([this] {
    (void)restart_->recovered();
    ready_ = true;
    restart_->go_on();
  }));
  core_->launcher = launcher_.get();
  server_ = std::make_unique<Server>(*core_, os::UniqueFd(),
                                     Server::Hooks{[] { return api::StatusReply(); },
                                                   [](api::ShutdownRequest::Mode, auto reply) { reply({}); },
                                                   []() -> Status { return {}; }});
  launcher_->start();
  return {};
}

void Engine::finish_commits(size_t made) {
  if (store_) store_->die(made);
}

void Engine::die() {
  ready_ = false;
  for (const auto& weak : wires_) {
    const auto wire = weak.lock();
    if (!wire) continue;
    Client::lost(wire);
    wire->server = {};
  }
  wires_.clear();
  server_.reset();
  launcher_.reset();
  restart_.reset();
  finish_commits(0);
  core_.reset();
  store_.reset();
}

std::unique_ptr<Client> Engine::connect(const rpc::Peer& peer) {
  if (!ready_) return nullptr;
  auto wire = std::make_shared<Client::Wire>();
  wire->agenda = &agenda_;
  wire->loop = &loop_;
  wire->delay = options_.message_delay;
  wire->peer = peer;
  // Questions of the daemon to the kernel about its peer are answered for this process.
  int ends[2];
  MINKE_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  wire->socket.reset(ends[0]);
  const os::UniqueFd other(ends[1]);
  wire->peer.socket = ends[0];
  wire->peer.connected_ticks = std::numeric_limits<uint64_t>::max();
  server_->admit(wire->peer, [&](rpc::Connection::Callbacks callbacks) {
    wire->server = std::move(callbacks);
    return std::make_unique<Client::ServerEnd>(wire);
  });
  wires_.push_back(wire);
  std::unique_ptr<Client> client(new Client(wire));
  wire->client = client.get();
  return client;
}

}  // namespace minke::engine::simulation
