#include "engine/embedded/watching/storage_keeping.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "config/configuration.h"
#include "os/detached.h"
#include "os/helper_program.h"
#include "os/log.h"
#include "os/minke_home.h"

namespace minke::engine {

namespace {

constexpr int64_t kLeastSeconds = 1, kMostSeconds = 24 * 3600, kAfterFailure = 600;

}  // namespace

StorageKeeping::StorageKeeping(os::EventLoop& loop, const config::Configuration& config)
    : loop_(loop), config_(config), timer_(loop.make_timer([this] { start(); })) {}

StorageKeeping::~StorageKeeping() = default;

void StorageKeeping::start() {
  const config::StorageConfiguration& storage = config_.storage;
  timer_->cancel();
  std::vector<std::string> watcher, server;
  if (::geteuid() == 0 && !storage.profile.empty() && storage.hold_jobs)
    watcher =
        os::helper_command(os::Helper::kStorageWatch, {config_.home, config_.source_path, storage.profile,
                                                       storage.root, storage.keeper});  // what it depends on
  if (os::is_shared(config_.home))
    server = os::helper_command(os::Helper::kStageServer, {config_.tmp_root, config_.source_path});
  keep_running(watcher_, std::move(watcher));
  keep_running(stage_server_, std::move(server));
  if (watch_ || storage.profile.empty() || (!storage.purge && !storage.snapshots)) return;
  auto output = os::start_detached(
      {.argv = os::helper_command(os::Helper::kStorageKeep, {config_.home, config_.source_path}),
       .log_path = config_.home + "/storage.log",
       .without_variables = {"SLURM_*"}});
  if (!output) {
    os::log_warning("storage is not kept: " + output.error().message);
    return timer_->set_after(std::chrono::seconds(kAfterFailure));
  }
  output_ = std::move(*output);
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  said_.clear();
  watch_ = loop_.on_readable(output_.get(), [this] { on_output(); });
}

void StorageKeeping::keep_running(Helper& helper, std::vector<std::string> command) {
  if (helper.watch && helper.command == command) return;
  helper.watch.reset();
  helper.output.reset();
  helper.again.reset();
  helper.command = std::move(command);
  if (helper.command.empty()) return;
  auto output = os::start_detached(
      {.argv = helper.command, .log_path = config_.home + "/storage.log", .without_variables = {"SLURM_*"}});
  if (!output) return try_later(helper);
  helper.output = std::move(*output);
  // It writes nothing; the end of file means that it has ended.
  helper.watch = loop_.on_readable(helper.output.get(), [this, &helper] { try_later(helper); });
}

// Nothing depends on it: counting and copying are done when they are needed.
void StorageKeeping::try_later(Helper& helper) {
  helper.watch.reset();
  helper.output.reset();
  helper.again = loop_.make_timer([this, &helper] { keep_running(helper, helper.command); });
  helper.again->set_after(std::chrono::seconds(kAfterFailure));
}

// At its end the process writes in how many seconds it must run again.
void StorageKeeping::on_output() {
  char buffer[256];
  const ssize_t got = ::read(output_.get(), buffer, sizeof buffer);
  if (got < 0) return;
  if (got > 0) {
    if (said_.size() < sizeof buffer) said_.append(buffer, static_cast<size_t>(got));
    return;
  }
  const int64_t seconds = std::strtoll(said_.c_str(), nullptr, 10);
  if (seconds <= 0) os::log_warning("keeping storage failed: see storage.log");
  timer_->set_after(std::chrono::seconds(
      seconds <= 0 ? kAfterFailure : std::clamp<int64_t>(seconds, kLeastSeconds, kMostSeconds)));
  watch_.reset();
  output_.reset();
}

}  // namespace minke::engine
