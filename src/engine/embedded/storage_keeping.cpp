#include "engine/embedded/storage_keeping.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "engine/embedded/core.h"
#include "os/detached.h"
#include "os/log.h"

namespace minke::engine {

namespace {

constexpr int64_t kLeastSeconds = 1, kMostSeconds = 24 * 3600, kAfterFailure = 600;

}  // namespace

StorageKeeping::StorageKeeping(Core& core) : core_(core), timer_(core.loop.make_timer([this] { start(); })) {}

StorageKeeping::~StorageKeeping() = default;

void StorageKeeping::start() {
  const StorageConfiguration& config = core_.config.storage;
  timer_->cancel();
  if (watch_ || config.profile.empty() || (!config.purge && !config.snapshots)) return;
  auto output = os::start_detached(
      {.argv = {"/proc/self/exe", "storage-keep", core_.config.home, core_.config.source_path},
       .log_path = core_.config.home + "/storage.log",
       .without_variables = {"SLURM_*"}});
  if (!output) {
    os::log_warning("storage is not kept: " + output.error().message);
    return timer_->set_after(std::chrono::seconds(kAfterFailure));
  }
  output_ = std::move(*output);
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  said_.clear();
  watch_ = core_.loop.on_readable(output_.get(), [this] { on_output(); });
}

// It says, at its end, in how many seconds it has something to do again.
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
