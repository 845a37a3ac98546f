#include "engine/embedded/stopping.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "engine/embedded/core.h"
#include "engine/embedded/life_cycle/lifecycle.h"
#include "engine/embedded/life_cycle/waiting.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/watching/measuring.h"
#include "node/launcher_client.h"
#include "os/log.h"

namespace minke::engine {

namespace {

constexpr std::chrono::milliseconds kLooks{500};

Status not_ended(const std::string& trouble) {
  return failure("the daemon goes on, because there are jobs that it cannot end: " + trouble +
                 "; to stop it without that: minke down --keep-jobs");
}

}  // namespace

Stopping::Stopping(Core& core, node::LauncherClient& launcher, std::function<std::string()> launcher_trouble)
    : core_(core), launcher_(launcher), launcher_trouble_(std::move(launcher_trouble)) {}
Stopping::~Stopping() = default;

void Stopping::stop_on_signals() {
  for (const int signal_number : {SIGTERM, SIGINT}) {
    signals_.push_back(core_.loop.on_signal(signal_number, [this] {
      os::log_info("told to stop; running jobs go on");
      shut_down(api::ShutdownRequest::KEEP_JOBS, [this](const Status& stops) {
        if (stops) return;
        os::log_warning("stopped with changes that could not be stored: " + core_.committer.problem());
        core_.loop.stop();
      });
    }));
  }
}

void Stopping::shut_down(api::ShutdownRequest::Mode mode, std::function<void(Status)> reply) {
  if (!core_.committer.problem().empty()) return reply(not_stopped());
  // Waits for jobs that are completing: a command that just returned may have left them so.
  const auto is_leaving = [](const Job& job) {
    return job.completing && !(job.details && job.details->requeue_when_ended);
  };
  std::vector<uint32_t> ids;
  uint64_t running = 0;
  for (const auto& [id, job] : core_.state.jobs()) {
    if (!job->holds_nodes()) continue;
    ids.push_back(id);
    running += !is_leaving(*job);
  }
  if (mode == api::ShutdownRequest::IF_IDLE && running > 0) {
    reply(failure(std::to_string(running) + (running == 1 ? " job is" : " jobs are") +
                  " running: --keep-jobs lets them go on without the daemon, --cancel-jobs stops them"));
    return;
  }
  core_.scheduling->pause(true);
  const auto answer = std::make_shared<std::function<void(Status)>>(std::move(reply));
  watch(answer);
  const auto stop = [this, answer] {
    if (!*answer) return;  // the client has been told that the daemon goes on
    std::exchange(*answer, nullptr)({});
    stop_when_idle();
  };
  if (mode == api::ShutdownRequest::KEEP_JOBS || ids.empty()) {
    core_.committer.when_durable(stop);
    return;
  }
  const auto left = std::make_shared<size_t>(ids.size());
  for (const uint32_t id : ids) {
    core_.waiting->for_end(id, [left, stop](const Waiting::Record&) {
      if (--*left == 0) stop();
    });
    core_.lifecycle->cancel(*core_.state.find(id), geteuid());
  }
}

Status Stopping::not_stopped() const {
  return failure(
      "the daemon goes on, because it has changes that cannot be stored: " + core_.committer.problem() +
      ". When that is mended, try again; to stop it without them: kill " + std::to_string(::getpid()));
}

// If the disk fills up meanwhile or the launcher is gone, tells the client,
// and the daemon goes on as before.
void Stopping::watch(const Answer& answer) {
  timer_ = core_.loop.make_timer([this, answer] {
    if (!*answer) return;
    // A launcher that has just gone may be back in a moment.
    const bool comes_back = !launcher_.connected() && launcher_.problem().empty();
    const std::string trouble = comes_back ? std::string() : launcher_trouble_();
    if (core_.committer.problem().empty() && trouble.empty()) return timer_->set_after(kLooks);
    std::exchange(*answer, nullptr)(trouble.empty() ? not_stopped() : not_ended(trouble));
    core_.scheduling->pause(!launcher_.connected());
  });
  timer_->set_after(kLooks);
}

void Stopping::stop_when_idle() {
  if (has_begun_) return;
  has_begun_ = true;
  core_.measuring->store_all();
  // Everything that clients asked for is durable by now.
  timer_ = core_.loop.make_timer([this] {
    if (core_.committer.problem().empty()) return timer_->set_after(kLooks);
    os::log_warning("stopped without the last measurements: " + core_.committer.problem());
    core_.loop.stop();
  });
  timer_->set_after(kLooks);
  core_.committer.when_idle([this] {
    // The answers still have to be sent; the next turn of the loop does so.
    core_.loop.post([this] { core_.loop.defer([this] { end_launcher_or_loop(); }); });
  });
}

void Stopping::end_launcher_or_loop() {
  const bool jobs_go_on = std::any_of(core_.state.jobs().begin(), core_.state.jobs().end(),
                                      [](const auto& entry) { return entry.second->holds_nodes(); });
  if (jobs_go_on || !launcher_.connected()) return core_.loop.stop();
  launcher_.shutdown();  // its end stops the loop
}

}  // namespace minke::engine
