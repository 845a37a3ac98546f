#include "engine/embedded/watching/metric_keeper.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "engine/embedded/core.h"
#include "os/detached.h"
#include "os/helper_program.h"
#include "os/log.h"

namespace minke::engine {

namespace {

constexpr int64_t kLeastSeconds = 5;
constexpr size_t kMostWaiting = 10000;
constexpr size_t kMostAtOnce = 500;
constexpr std::chrono::milliseconds kDelay{500};  // until its record is written and more jobs have ended

}  // namespace

MetricKeeper::MetricKeeper(Core& core) : core_(core), timer_(core.loop.make_timer([this] { start(); })) {}

void MetricKeeper::job_ended(const Job& job) {
  if (job.start_time == 0 || job.end_time - job.start_time < kLeastSeconds) return;
  if (waiting_.size() == kMostWaiting) waiting_.pop_front();
  waiting_.push_back(job.id);
  if (!watch_ && waiting_.size() == 1) timer_->set_after(kDelay);
}

void MetricKeeper::start() {
  std::string ids;
  for (size_t i = 0; i < kMostAtOnce && !waiting_.empty(); ++i) {
    ids += std::to_string(waiting_.front()) + "\n";
    waiting_.pop_front();
  }
  const os::UniqueFd input(::memfd_create("minke-metrics", MFD_CLOEXEC));
  if (!input || ::write(input.get(), ids.data(), ids.size()) != static_cast<ssize_t>(ids.size()) ||
      ::lseek(input.get(), 0, SEEK_SET) != 0)
    return os::log_warning("metrics: " + failure_from_errno("memfd", errno).value().message);
  auto output =
      os::start_detached({.argv = os::helper_command(os::Helper::kKeepMetrics, {"--home", core_.config.home}),
                          .log_path = core_.config.home + "/metrics.log",
                          .without_variables = {"SLURM_*"},
                          .input = input.get()});
  if (!output) return os::log_warning("metrics: " + output.error().message);
  output_ = std::move(*output);
  watch_ = core_.loop.on_readable(output_.get(), [this] {
    output_.reset();
    if (!waiting_.empty()) timer_->set_after(kDelay);
    watch_.reset();
  });
}

}  // namespace minke::engine
