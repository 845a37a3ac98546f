#include "engine/embedded/watching/metrics_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>

#include "engine/embedded/core.h"
#include "os/detached.h"
#include "os/helper_program.h"
#include "os/log.h"
#include "os/pipe.h"

namespace minke::engine {

void MetricsProcess::start() {
  const std::string& home = core_.config.home;
  address_ = core_.config.metrics;
  if (address_.empty()) return;
  static constexpr std::chrono::seconds kBeforeNextTry{10};
  if (!timer_) timer_ = core_.loop.make_timer([this] { start(); });
  auto pipe = os::make_pipe();
  if (!pipe) return timer_->set_after(kBeforeNextTry);
  lifeline_ = std::move(pipe->writer);
  auto output = os::start_detached(
      {.argv = os::helper_command(os::Helper::kMetricsServer, {"--home", home, "--listen", address_}),
       .log_path = home + "/metrics.log",
       .without_variables = {"SLURM_*"},
       .input = pipe->reader.get()});
  if (!output) {
    os::log_warning("/metrics is not served: " + output.error().message);
    return timer_->set_after(kBeforeNextTry);
  }
  output_ = std::move(*output);
  watch_ = core_.loop.on_readable(output_.get(), [this] {
    os::log_warning("the process that serves /metrics has ended: see metrics.log");
    timer_->set_after(kBeforeNextTry);
    watch_.reset();
  });
}

void MetricsProcess::configuration_changed() {
  if (address_ == core_.config.metrics) return;
  if (timer_) timer_->cancel();
  watch_.reset();
  output_.reset();
  lifeline_.reset();  // the one that serves the old address ends
  start();
}

}  // namespace minke::engine
