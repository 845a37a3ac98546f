#include "node/stub_launcher.h"

#include <unistd.h>

#include <ctime>
#include <deque>
#include <utility>

#include "node/launch.pb.h"

namespace minke::node {
namespace {

class StubLauncher : public LauncherClient {
 public:
  StubLauncher(os::EventLoop& loop, Callbacks callbacks) : loop_(loop), callbacks_(std::move(callbacks)) {}

  void start() override {
    tell([this] {
      connected_ = true;
      Inventory inventory;
      inventory.set_instance("stub");
      inventory.set_pid(static_cast<uint32_t>(::getpid()));
      callbacks_.on_inventory(std::move(inventory));
    });
  }

  void launch(LaunchOrder order, std::vector<os::UniqueFd>) override {
    Launch launch;
    launch.set_start_time(std::time(nullptr));
    *launch.mutable_id() = order.id();
    for (int i = 0; i < order.tasks_size(); ++i) launch.add_pids(static_cast<uint32_t>(::getpid()));
    tell([this, launch] { callbacks_.on_started(launch); });
    for (const TaskOrder& task : order.tasks()) {
      TaskEnd end;
      end.set_rank(task.rank());
      end.set_end_time(launch.start_time());
      if (order.tasks_size() > 1) {
        Launch one;
        *one.mutable_id() = order.id();
        *one.add_ended_tasks() = end;
        tell([this, one = std::move(one)]() mutable { callbacks_.on_task_ended(std::move(one)); });
      }
      *launch.add_ended_tasks() = std::move(end);
    }
    launch.set_end_time(launch.start_time());
    for (uint32_t& pid : *launch.mutable_pids()) pid = 0;
    tell([this, launch = std::move(launch)]() mutable { callbacks_.on_ended(std::move(launch)); });
  }

  void signal(SignalOrder) override {}  // everything has already ended
  void collect(CollectOrder) override {}

  void end_job(EndJobOrder order) override {
    JobEnded ended;
    ended.set_job_id(order.job_id());
    ended.set_run(order.run());
    tell([this, ended] { callbacks_.on_job_ended(ended); });
  }

  void shutdown() override {
    tell([this] {
      connected_ = false;
      callbacks_.on_lost_connection(failure("the stub launcher was told to stop"));
    });
  }

  bool connected() const override { return connected_; }

 private:
  void tell(std::function<void()> event) {
    events_.push_back(std::move(event));
    if (scheduled_) return;
    scheduled_ = true;
    loop_.post([this, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.expired()) return;
      scheduled_ = false;
      // Later events wait for the next turn, so that nobody starves.
      for (auto& one : std::exchange(events_, {})) {
        one();
        if (alive.expired()) return;
      }
    });
  }

  os::EventLoop& loop_;
  Callbacks callbacks_;
  bool connected_ = false;
  bool scheduled_ = false;
  std::deque<std::function<void()>> events_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<LauncherClient> make_stub_launcher(os::EventLoop& loop, LauncherClient::Callbacks callbacks) {
  return std::make_unique<StubLauncher>(loop, std::move(callbacks));
}

}  // namespace minke::node
