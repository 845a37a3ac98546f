// RequestEngine: a small engine for very many short runs, without sockets, threads, disk or processes.
// Requests go in as frames. Time passes, and launched jobs end, only when the test says so.
// simulation/engine.h has a launcher and a store that behave like the real ones under faults, but
// takes a thousand times as long.
//
// Invariant: the state depends only on the calls, so equal calls lead to the same state.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/daemon.pb.h"
#include "engine/embedded/core.h"
#include "engine/embedded/life_cycle/lifecycle.h"
#include "engine/embedded/recovery.h"
#include "engine/embedded/restart.h"
#include "engine/embedded/server/server.h"
#include "engine/embedded/simulation/memory_store.h"
#include "engine/embedded/simulation/time.h"
#include "node/launch.pb.h"
#include "node/launcher_client.h"

namespace minke::rpc {
class ServerMessage;
}  // namespace minke::rpc

namespace minke::engine::simulation {

// A launcher whose jobs run until the test ends them.
class PatientLauncher final : public node::LauncherClient {
 public:
  PatientLauncher(os::EventLoop& loop, Callbacks callbacks) : loop_(loop), callbacks_(std::move(callbacks)) {}

  void start() override {
    tell([this] {
      connected_ = true;
      node::Inventory inventory;
      inventory.set_instance("patient");
      callbacks_.on_inventory(std::move(inventory));
    });
  }
  void launch(node::LaunchOrder order, std::vector<os::UniqueFd>) override {
    node::Launch launch;
    *launch.mutable_id() = order.id();
    launch.set_tag(order.tag());
    launch.set_start_time(now);
    for (const node::TaskOrder& task : order.tasks()) {
      launch.add_pids(kNoProcess);
      ranks_[key_of(order.id())].push_back(task.rank());
    }
    running_.push_back(launch);
    tell([this, launch] { callbacks_.on_started(launch); });
  }
  void signal(node::SignalOrder order) override {
    if (order.signal() != 9 && order.signal() != 15) return;
    end_where([&](const node::Launch& launch) { return reaches(order, launch); },
              static_cast<int32_t>(order.signal()));
  }
  void end_job(node::EndJobOrder order) override {
    end_where([&](const node::Launch& launch) { return launch.id().job_id() == order.job_id(); }, 9);
    node::JobEnded ended;
    ended.set_job_id(order.job_id());
    ended.set_run(order.run());
    tell([this, ended] { callbacks_.on_job_ended(ended); });
  }
  void collect(node::CollectOrder) override {}
  void shutdown() override {}
  bool connected() const override { return connected_; }

  // Ends one of the running launches. False: there is none.
  bool end_one(size_t which, int32_t status) {
    if (running_.empty()) return false;
    const auto at = running_.begin() + static_cast<ptrdiff_t>(which % running_.size());
    const node::Launch launch = std::move(*at);
    running_.erase(at);
    end(launch, status);
    return true;
  }

  int64_t now = 0;

 private:
  static constexpr uint32_t kNoProcess = 0x7ffffff0;  // above all pids of the kernel
  using Key = std::pair<uint64_t, uint64_t>;
  static Key key_of(const node::LaunchId& id) {
    return {uint64_t{id.job_id()} << 32 | id.run(),
            uint64_t{static_cast<uint32_t>(id.kind())} << 32 | id.step_id()};
  }

  static bool reaches(const node::SignalOrder& order, const node::Launch& launch) {
    if (launch.id().job_id() != order.job_id()) return false;
    const bool script = launch.id().kind() == model::STEP_BATCH;
    switch (order.target()) {
      case node::SignalOrder::STEPS:
        return !script;
      case node::SignalOrder::ONE_STEP:
        return !script && launch.id().step_id() == order.step_id();
      case node::SignalOrder::BATCH_SHELL:
      case node::SignalOrder::BATCH_SESSION:
        return script;
      default:
        return true;
    }
  }

  template <typename Which>
  void end_where(const Which& which, int32_t status) {
    for (size_t i = 0; i < running_.size();) {
      if (which(running_[i])) {
        end_one(i, status);
      } else {
        ++i;
      }
    }
  }

  void end(node::Launch launch, int32_t status) {
    for (const uint32_t rank : std::exchange(ranks_[key_of(launch.id())], {})) {
      node::TaskEnd& one = *launch.add_ended_tasks();
      one.set_rank(rank);
      one.set_status(status);
      one.set_end_time(std::max(launch.start_time(), now));
    }
    ranks_.erase(key_of(launch.id()));
    launch.set_end_time(std::max(launch.start_time(), now));
    tell([this, launch] { callbacks_.on_ended(launch); });
  }

  void tell(std::function<void()> event) { loop_.post(std::move(event)); }

  os::EventLoop& loop_;
  Callbacks callbacks_;
  bool connected_ = false;
  std::vector<node::Launch> running_;
  std::map<Key, std::vector<uint32_t>> ranks_;
};

class RequestEngine {
 public:
  using OnAnswer = std::function<void(uint32_t uid, const rpc::ServerMessage&)>;

  static constexpr int64_t kBeginning = 1'700'000'000;

  // `now`: s since the epoch. A daemon that continues another's state must have a later `now`.
  RequestEngine(config::Configuration configuration, std::shared_ptr<MemoryStore> store, OnAnswer on_answer,
                int64_t now = kBeginning)
      : now_(now),
        store_(std::move(store)),
        on_answer_(std::move(on_answer)),
        core_(loop_, std::move(configuration), *store_, [this] { return now_; }),
        restart_(core_) {
    const Status loaded = restart_.load("boot");
    MINKE_CHECK(loaded);
    launcher_ = std::make_unique<PatientLauncher>(loop_, core_.recovery->callbacks([this] {
      restart_.recovered();
      restart_.go_on();
    }));
    launcher_->now = now_;
    core_.launcher = launcher_.get();
    Server::Hooks hooks;
    hooks.status = [] { return api::StatusReply(); };
    hooks.shut_down = [](api::ShutdownRequest::Mode, const std::function<void(Status)>& reply) { reply({}); };
    hooks.reconfigure = [] { return Status(); };
    server_ = std::make_unique<Server>(core_, os::UniqueFd(), std::move(hooks));
    launcher_->start();
    settle();
  }
  ~RequestEngine() { server_->close(); }

  // Delivers a frame from a process of this user, who has one connection.
  void send(uint32_t uid, const std::string& frame);
  // From now on clients are this process, so that owners of allocations and steps live. On kernels before
  // 6.5, which do not report a peer's process, this works only if `uid` is this process's own.
  void let_owners_live() {
    int ends[2];
    MINKE_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    own_end_.reset(ends[0]);
    other_end_.reset(ends[1]);
  }
  void hang_up(uint32_t uid);
  void pass(int64_t seconds) {
    now_ += seconds;
    launcher_->now = now_;
    const Agenda::Time until = agenda_.now() + std::chrono::seconds(seconds);
    for (int events = 0; events < 1000 && !agenda_.empty() && agenda_.next() <= until; ++events) {
      agenda_.step();
      settle();
    }
    agenda_.at(until, [] {});
    while (!agenda_.empty() && agenda_.now() < until && agenda_.step()) settle();
  }
  void end_one(size_t which, int32_t status) {
    launcher_->end_one(which, status);
    settle();
  }
  void settle() {
    for (int turns = 0; turns < 10000 && turn(loop_); ++turns) {
    }
  }
  Core& core() { return core_; }
  Server& server() { return *server_; }

 private:
  struct Pipe;
  class MemoryConnection;

  void connect(uint32_t uid);

  Agenda agenda_;
  const LoopsOn loops_{agenda_};
  os::EventLoop loop_;
  os::UniqueFd own_end_, other_end_;
  int64_t now_;
  std::shared_ptr<MemoryStore> store_;
  OnAnswer on_answer_;
  Core core_;
  Restart restart_;
  std::unique_ptr<PatientLauncher> launcher_;
  std::unique_ptr<Server> server_;
  std::map<uint32_t, std::weak_ptr<Pipe>> connections_;
};

}  // namespace minke::engine::simulation
