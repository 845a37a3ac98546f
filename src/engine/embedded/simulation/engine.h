// Engine: one life of a daemon in virtual time: the whole engine on parts that the test controls.
//
// Real parts: Core with everything in it, recovery (Restart), the server and everything behind it, the store,
// and the launcher's table and journal. Simulated parts: time, the event loop, the launcher's process and its
// jobs (simulation/launcher.h), the times of commits (simulation/store.h), and connections. A run depends
// only on what the test provides, so it can be repeated.
//
//   Agenda agenda;
//   Machine machine(agenda, home, clock);
//   LauncherHost launcher(machine);
//   Engine engine(agenda, launcher, options);   // or several, one after the other: the daemon that comes
//   back engine.start(); auto client = engine.connect({pid, uid, gid}); client->ask(message, [](const
//   rpc::ServerMessage& answer) { … }); while (engine.turn() || agenda.step()) { … }
//
// One thread.
#pragma once

#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "config/configuration.h"
#include "engine/embedded/core.h"
#include "engine/embedded/restart.h"
#include "engine/embedded/server/server.h"
#include "engine/embedded/simulation/launcher.h"
#include "engine/embedded/simulation/store.h"
#include "engine/embedded/simulation/time.h"

namespace minke::api {
class SubmitRequest;
}  // namespace minke::api

namespace minke::rpc {
class ClientMessage;
class ServerMessage;
}  // namespace minke::rpc

namespace minke::engine::simulation {

// A cluster of one node with `cpus` CPUs, without measurements and GPUs.
config::Configuration simulated_configuration(const std::string& home, uint32_t cpus = 8);
// A request for a batch job with this key. `program`: "run=30 exit=0 term=5", which Machine interprets.
api::SubmitRequest batch_request(const std::string& key, const std::string& program, const std::string& home);

class Engine;

// A client's end of a connection. Answers arrive by the agenda. When the daemon dies, on_lost is
// called once, and nothing more comes.
class Client {
 public:
  using Answer = std::function<void(const rpc::ServerMessage& answer)>;
  // `answer` gets each message of the answer, until `last`. Sets the message's request id.
  void ask(rpc::ClientMessage message, Answer answer);
  bool connected() const { return wire_->connected; }
  std::function<void()> on_lost;
  ~Client();

 private:
  friend class Engine;
  struct Wire {
    Agenda* agenda = nullptr;
    os::EventLoop* loop = nullptr;  // the daemon's, while it lives
    std::function<Agenda::Time()> delay;
    rpc::Peer peer;
    os::UniqueFd socket;                // no data travels over it
    rpc::Connection::Callbacks server;  // how the daemon handles what it receives
    Client* client = nullptr;           // null when it is gone
    bool connected = true;
    Agenda::Time to_server{0}, to_client{0};  // arrival of the last message sent
  };
  class ServerEnd;
  explicit Client(std::shared_ptr<Wire> wire) : wire_(std::move(wire)) {}
  void received(const std::string& frame);
  static void lost(const std::shared_ptr<Wire>& wire);

  std::shared_ptr<Wire> wire_;
  uint32_t last_id_ = 0;
  std::map<uint32_t, Answer> asked_;
};

class Engine {
 public:
  struct Options {
    config::Configuration config = {};
    std::string boot_id = {};
    std::function<Agenda::Time()> commit_delay = {};   // empty: a millisecond each
    std::function<Agenda::Time()> message_delay = {};  // of clients; empty: none
  };
  Engine(Agenda& agenda, LauncherHost& launcher, Options options);
  ~Engine();  // like die()

  // Opens the store, loads it, and connects to the launcher; ready() becomes true some time later. Errors are
  // those of the daemon, which then ends.
  Status start();
  bool ready() const { return ready_; }
  // Runs everything that is ready now. False: nothing was.
  bool turn() { return simulation::turn(loop_); }
  // The first `made` of the waiting commits reach the store, and no callback is
  // called: the daemon is about to die.
  void finish_commits(size_t made);
  // Kills the daemon.
  void die();
  bool dead() const { return core_ == nullptr; }

  // Null while the daemon is not ready: a real client would wait or find nobody.
  std::unique_ptr<Client> connect(const rpc::Peer& peer = {::getpid(), ::geteuid(), ::getegid()});

  Core& core() { return *core_; }
  SimulatedStore& store() { return *store_; }
  Agenda& agenda() { return agenda_; }

 private:
  Agenda& agenda_;
  LauncherHost& host_;
  Options options_;
  const LoopsOn loops_{agenda_};
  os::EventLoop loop_;
  std::unique_ptr<SimulatedStore> store_;
  std::unique_ptr<Core> core_;
  std::unique_ptr<Restart> restart_;
  std::unique_ptr<node::LauncherClient> launcher_;
  std::unique_ptr<Server> server_;
  std::vector<std::weak_ptr<Client::Wire>> wires_;
  bool ready_ = false;
};

}  // namespace minke::engine::simulation
