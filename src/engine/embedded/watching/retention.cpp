#include "engine/embedded/watching/retention.h"

#include <chrono>
#include <string>
#include <utility>

#include "engine/embedded/core.h"
#include "os/log.h"
#include "store/store.h"

namespace minke::engine {

void Retention::policy_changed() {
  if (core_.config.accounting.purge_jobs_after == 0) {
    daily_.reset();
    return;
  }
  if (!daily_) daily_ = core_.loop.make_timer([this] { purge(); });
  purge();
}

void Retention::purge() {
  daily_->set_after(std::chrono::hours(24));
  if (std::exchange(purging_, true)) return;
  core_.store.forget(
      core_.now() - core_.config.accounting.purge_jobs_after, [this](Result<uint64_t> removed) {
        core_.loop.post([this, removed = std::move(removed)] {
          purging_ = false;
          if (!removed) {
            os::log_warning("the record of old jobs could not be purged: " + removed.error().message);
          } else if (*removed > 0) {
            os::log_info("purged the record of " + std::to_string(*removed) + " old runs");
          }
        });
      });
}

}  // namespace minke::engine
