#include "node/launcher_harness.h"
#include "os/helper_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "model/step_record.pb.h"
#include "node/control_groups.h"
#include "node/launch.pb.h"
#include "node/launcher.h"
#include "node/process_tree.h"
#include "node/tmp_dir.h"

namespace minke::node {

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = "/tmp/minke-node-XXXXXX";
  MINKE_CHECK(::mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}
TemporaryDirectory::~TemporaryDirectory() {
  // A process of the launcher's may still be removing what was set aside in it.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  auto status = remove_tmp_dir(path_);
  while (!status && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    status = remove_tmp_dir(path_);
  }
  EXPECT_TRUE(status) << (status ? "" : status.error().message);
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

void write_whole(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

bool eventually(const std::function<bool()>& condition) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

bool process_exists(pid_t pid) {
  auto process = read_process(pid);
  return process && process->state != 'Z' && process->state != 'X';
}

size_t count_lines(const std::string& path) {
  std::string content = read_whole(path);
  return static_cast<size_t>(std::count(content.begin(), content.end(), '\n'));
}

std::string environment_block(const std::vector<std::string>& variables) {
  std::string block;
  for (const std::string& variable : variables) block.append(variable).push_back('\0');
  return block;
}

LaunchId launch_id(uint32_t job, model::StepKind kind, uint32_t step, uint32_t run) {
  LaunchId id;
  id.set_job_id(job);
  id.set_run(run);
  id.set_kind(kind);
  id.set_step_id(step);
  return id;
}

LaunchOrder batch_order(uint32_t job, const std::string& script, const std::string& directory) {
  LaunchOrder order;
  *order.mutable_id() = launch_id(job);
  for (const char* word : {"/bin/sh", "-c", script.c_str()}) order.add_argv(word);
  order.set_environment(environment_block({"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nowhere"}));
  order.set_work_dir(directory);
  order.set_umask(022);
  order.set_ends_job(true);
  order.set_tag("tag of " + std::to_string(job));
  order.set_script_error_prefix("slurmstepd: error: ");
  TaskOrder& task = *order.add_tasks();
  task.mutable_stdout()->set_path(directory + "/out." + std::to_string(job));
  task.mutable_stderr()->set_same_as_stdout(true);
  return order;
}

LaunchOrder step_order(uint32_t job, uint32_t step, const std::string& script, const std::string& directory,
                       uint32_t tasks) {
  LaunchOrder order = batch_order(job, script, directory);
  *order.mutable_id() = launch_id(job, model::STEP_NORMAL, step);
  order.set_ends_job(false);
  order.clear_tasks();
  for (uint32_t rank = 0; rank < tasks; ++rank) {
    TaskOrder& task = *order.add_tasks();
    task.set_rank(rank);
    task.add_environment("SLURM_PROCID=" + std::to_string(rank));
    task.mutable_stdout()->set_path(directory + "/step." + std::to_string(rank));
    task.mutable_stderr()->set_same_as_stdout(true);
  }
  return order;
}

LauncherHarness::LauncherHarness(bool use_kernel_child_list) : use_kernel_child_list_(use_kernel_child_list) {
  start();
}

LauncherHarness::~LauncherHarness() {
  kill_launcher();
  // Another one that the test has had started, and that may only now get the home's lock.
  const std::string launchers = std::string("launcher") + '\0' + "--home" + '\0' + home.path() + '\0';
  for (const Process& process : read_all_processes()) {
    const std::string command = read_whole("/proc/" + std::to_string(process.pid) + "/cmdline");
    if (command.find(launchers) != std::string::npos) ::kill(process.pid, SIGKILL);
  }
  std::string marker = launcher_home_id(home.path()) + "/";
  for (const Process& process : read_all_processes()) {
    auto value = initial_variable(process.pid, kLaunchMarker);
    if (value && value->starts_with(marker)) ::kill(process.pid, SIGKILL);
  }
  const auto groups = ControlGroups::find(launcher_home_id(home.path()));
  if (!groups) return;
  for (const std::string& group : groups->groups()) {
    groups->kill(group);
    eventually([&] { return static_cast<bool>(groups->remove(group)); });
  }
  [[maybe_unused]] const Status removed = groups->remove_all();
}

LauncherClientOptions LauncherHarness::client_options() const {
  LauncherClientOptions options;
  options.home = home.path();
  options.command = os::helper_command(os::Helper::kLauncher, {"--home", home.path()});
  if (!use_kernel_child_list_) options.command.push_back("--no-child-list");
  options.log_path = home / "launcher.log";
  return options;
}

void LauncherHarness::start() {
  auto ready = start_launcher(client_options());
  ASSERT_TRUE(ready) << ready.error().message;
  pollfd readable{ready->get(), POLLIN, 0};
  ASSERT_EQ(::poll(&readable, 1, 120'000), 1);
  char word[6];
  ASSERT_EQ(::read(ready->get(), word, sizeof word), 6) << read_whole(home / "launcher.log");
  connect();
}

void LauncherHarness::connect() {
  auto channel = rpc::Channel::connect(launcher_socket_path(home.path()));
  ASSERT_TRUE(channel) << channel.error().message;
  channel_ = std::make_unique<rpc::Channel>(std::move(*channel));
  DaemonMessage first;
  first.set_inventory(true);
  send(first);
  auto message = next();
  ASSERT_TRUE(message && message->has_inventory());
  inventory = message->inventory();
}

void LauncherHarness::kill_launcher() {
  pid_t pid = static_cast<pid_t>(inventory.pid());
  if (pid > 0) ::kill(pid, SIGKILL);
  EXPECT_TRUE(eventually([&] { return !process_exists(pid); }));
  channel_.reset();
}

void LauncherHarness::send(const DaemonMessage& message, const std::vector<int>& descriptors) {
  auto status = channel_->send(message, descriptors);
  ASSERT_TRUE(status) << status.error().message;
}

void LauncherHarness::launch(const LaunchOrder& order, const std::vector<int>& descriptors) {
  DaemonMessage message;
  *message.mutable_launch() = order;
  send(message, descriptors);
}

void LauncherHarness::signal(uint32_t job, int number, SignalOrder::Target target, uint32_t step) {
  DaemonMessage message;
  message.mutable_signal()->set_job_id(job);
  message.mutable_signal()->set_signal(static_cast<uint32_t>(number));
  message.mutable_signal()->set_target(target);
  message.mutable_signal()->set_step_id(step);
  send(message);
}

void LauncherHarness::end_job(uint32_t job, const std::string& tmp_dir) {
  DaemonMessage message;
  message.mutable_end_job()->set_job_id(job);
  message.mutable_end_job()->set_tmp_dir(tmp_dir);
  send(message);
}

void LauncherHarness::collect(const LaunchId& id) {
  DaemonMessage message;
  *message.mutable_collect()->add_ids() = id;
  send(message);
}

std::optional<LauncherMessage> LauncherHarness::next(int timeout_ms) {
  LauncherMessage message;
  if (!channel_ || !channel_->receive(message, std::chrono::milliseconds(timeout_ms))) return std::nullopt;
  events.push_back(message);
  return message;
}

LauncherMessage LauncherHarness::wait_for(const char* what,
                                          const std::function<bool(const LauncherMessage&)>& matches) {
  for (const LauncherMessage& event : events) {
    if (matches(event)) return event;
  }
  for (;;) {
    auto message = next();
    if (!message) {
      ADD_FAILURE() << "no " << what << "\n" << read_whole(home / "launcher.log");
      return {};
    }
    if (matches(*message)) return *message;
  }
}

namespace {
bool same(const LaunchId& a, const LaunchId& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}
}  // namespace

Launch LauncherHarness::wait_started(const LaunchId& id) {
  return wait_for("started",
                  [&](const auto& event) { return event.has_started() && same(event.started().id(), id); })
      .started();
}
Launch LauncherHarness::wait_ended(const LaunchId& id) {
  return wait_for("ended",
                  [&](const auto& event) { return event.has_ended() && same(event.ended().id(), id); })
      .ended();
}
void LauncherHarness::wait_job_ended(uint32_t job) {
  wait_for("job_ended",
           [&](const auto& event) { return event.has_job_ended() && event.job_ended().job_id() == job; });
}

Launch LauncherHarness::run(const LaunchOrder& order) {
  launch(order);
  return wait_ended(order.id());
}

std::optional<Launch> LauncherHarness::in_inventory(const LaunchId& id) const {
  for (const Launch& launch : inventory.launches()) {
    if (same(launch.id(), id)) return launch;
  }
  return std::nullopt;
}

}  // namespace minke::node
