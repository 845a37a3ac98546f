// Measures the cost of the launcher: jobs through it (one batch launch each, with its
// output file, journal records and clearing), compared with starting the same program
// directly by posix_spawn and wait.
//
// launcher_cpu_us is the launcher's own processor time per job. The rest of the time is the program's.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "model/step_record.pb.h"
#include "node/launch.pb.h"
#include "node/launcher.h"
#include "node/launcher_client.h"
#include "node/tmp_dir.h"
#include "os/event_loop.h"

extern char** environ;

namespace minke::node {
namespace {

constexpr int kAtOnce = 2;  // jobs at a time, in both cases
constexpr char kScript[] = "exit 0";

void direct_spawn(benchmark::State& state) {
  char directory[] = "/tmp/minke-perf-XXXXXX";
  if (::mkdtemp(directory) == nullptr) return state.SkipWithError("mkdtemp");
  std::string output = std::string(directory) + "/out";
  const char* shell = state.range(0) == 0 ? "/bin/true" : "/bin/bash";
  const char* arguments[] = {shell, "-c", kScript, nullptr};
  int running = 0;
  for (auto _ : state) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    pid_t pid = 0;
    if (posix_spawn(&pid, shell, &actions, nullptr, const_cast<char**>(arguments), environ) != 0) {
      state.SkipWithError("posix_spawn");
    }
    posix_spawn_file_actions_destroy(&actions);
    if (++running >= kAtOnce && ::wait(nullptr) > 0) --running;
  }
  while (running > 0 && ::wait(nullptr) > 0) --running;
  auto status = remove_tmp_dir(directory);
  if (!status) state.SkipWithError(status.error().message.c_str());
}

// A launcher in its own process, as in production, with this process as its daemon.
class ThroughLauncher {
 public:
  explicit ThroughLauncher(const char* shell) : shell_(shell) {
    char pattern[] = "/tmp/minke-perf-XXXXXX";
    home_ = ::mkdtemp(pattern);
    launcher_ = ::fork();
    if (launcher_ == 0) {
      os::UniqueFd null(::open("/dev/null", O_RDWR));
      ::dup2(null.get(), STDOUT_FILENO);
      ::_exit(run_launcher({home_}));
    }
  }
  ~ThroughLauncher() {
    ::kill(launcher_, SIGKILL);
    ::waitpid(launcher_, nullptr, 0);
    (void)remove_tmp_dir(home_);
  }

  void run(int jobs) {
    os::EventLoop loop;
    std::unique_ptr<LauncherClient> client;
    int to_launch = jobs;
    int to_end = jobs;
    LauncherClient::Callbacks callbacks;
    callbacks.on_inventory = [&](Inventory) {
      for (int i = 0; i < kAtOnce && to_launch > 0; ++i, --to_launch) client->launch(next_order(), {});
    };
    callbacks.on_started = callbacks.on_task_ended = [](Launch) {};
    callbacks.on_job_ended = [](JobEnded) {};
    callbacks.on_ended = [&](Launch launch) {
      CollectOrder order;
      *order.add_ids() = launch.id();
      client->collect(std::move(order));
      if (to_launch > 0) {
        --to_launch;
        client->launch(next_order(), {});
      }
      if (--to_end == 0) loop.stop();
    };
    callbacks.on_lost_connection = [&](Status) { client->start(); };  // it is not running yet
    client = make_launcher_client(loop, {home_, {"/bin/false"}, ""}, std::move(callbacks));
    client->start();
    loop.run();
  }

  // Microseconds of processor time that the launcher has used so far.
  double cpu_microseconds() const {
    std::ifstream statistics("/proc/" + std::to_string(launcher_) + "/schedstat");
    double nanoseconds = 0;
    statistics >> nanoseconds;
    return nanoseconds / 1000;
  }

 private:
  LaunchOrder next_order() {
    LaunchOrder order;
    order.mutable_id()->set_job_id(++job_);
    order.mutable_id()->set_kind(model::STEP_BATCH);
    for (const char* word : {shell_, "-c", kScript}) order.add_argv(word);
    for (char** variable = environ; *variable != nullptr; ++variable) {
      order.mutable_environment()->append(*variable).push_back('\0');
    }
    order.set_work_dir(home_);
    order.set_umask(022);
    order.set_ends_job(true);
    order.set_tmp_dir(home_ + "/tmp." + std::to_string(job_));
    order.add_tasks()->mutable_stdout()->set_path(home_ + "/out");
    return order;
  }

  const char* shell_;
  std::string home_;
  pid_t launcher_ = 0;
  uint32_t job_ = 0;
};

void through_launcher(benchmark::State& state) {
  ThroughLauncher launcher(state.range(0) == 0 ? "/bin/true" : "/bin/bash");
  constexpr int kBatch = 500;
  launcher.run(1);  // may have to start the launcher first
  double before = launcher.cpu_microseconds();
  while (state.KeepRunningBatch(kBatch)) launcher.run(kBatch);
  double used = launcher.cpu_microseconds() - before;
  state.counters["launcher_cpu_us"] = used / static_cast<double>(state.iterations());
}

BENCHMARK(direct_spawn)->ArgName("bash")->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(through_launcher)->ArgName("bash")->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace minke::node
