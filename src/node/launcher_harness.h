// LauncherHarness: for tests, a launcher in its own home, and a daemon's side of the
// connection to it. Waits have deadlines.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/step_record.pb.h"
#include "node/launch.pb.h"
#include "node/launcher_client.h"
#include "os/fd.h"
#include "rpc/channel.h"

namespace minke::node {

// A directory that its destructor removes.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string read_whole(const std::string& path);  // "" where there is none
void write_whole(const std::string& path, const std::string& content);
// Polls until the condition holds; false after 20 s.
bool eventually(const std::function<bool()>& condition);
bool process_exists(pid_t pid);  // zombies do not count
size_t count_lines(const std::string& path);

// Encodes NAME=VALUE strings like a LaunchOrder.
std::string environment_block(const std::vector<std::string>& variables);
LaunchId launch_id(uint32_t job, model::StepKind kind = model::STEP_BATCH, uint32_t step = 0,
                   uint32_t run = 0);
// `sh -c script` as the batch script of a job, in `directory`, output to `directory`/out.<job>.
LaunchOrder batch_order(uint32_t job, const std::string& script, const std::string& directory);
// The same as a step of `tasks` tasks, output to `directory`/step.<rank>.
LaunchOrder step_order(uint32_t job, uint32_t step, const std::string& script, const std::string& directory,
                       uint32_t tasks = 1);

class LauncherHarness {
 public:
  explicit LauncherHarness(bool use_kernel_child_list = true);
  ~LauncherHarness();  // kills the launcher and all that its jobs left

  void start();  // starts one and connects to it; fills `inventory`
  void connect();
  void disconnect() { channel_.reset(); }
  void kill_launcher();  // with SIGKILL; returns when it is gone
  LauncherClientOptions client_options() const;

  void send(const DaemonMessage& message, const std::vector<int>& descriptors = {});
  void launch(const LaunchOrder& order, const std::vector<int>& descriptors = {});
  void signal(uint32_t job, int number, SignalOrder::Target target, uint32_t step = 0);
  void end_job(uint32_t job, const std::string& tmp_dir = "");
  void collect(const LaunchId& id);

  std::optional<LauncherMessage> next(int timeout_ms = 120'000);
  // These read on until such an event comes; they fail the test after 20 s. `events` keeps what was read.
  Launch wait_started(const LaunchId& id);
  Launch wait_ended(const LaunchId& id);
  void wait_job_ended(uint32_t job);
  Launch run(const LaunchOrder& order);  // launches and waits for its end
  std::optional<Launch> in_inventory(const LaunchId& id) const;

  TemporaryDirectory home;
  Inventory inventory;
  std::vector<LauncherMessage> events;

 private:
  LauncherMessage wait_for(const char* what, const std::function<bool(const LauncherMessage&)>& matches);
  bool use_kernel_child_list_;
  std::unique_ptr<rpc::Channel> channel_;
};

}  // namespace minke::node
