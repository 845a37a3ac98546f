#include "engine/embedded/scheduling/submission_forecast.h"

#include <utility>

#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/forecast_slice.h"
#include "engine/embedded/scheduling/history.h"
#include "engine/embedded/scheduling/preemption.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/scheduling/world.h"
#include "sched/entries.h"

namespace minke::engine {

SubmissionForecast::SubmissionForecast(Core& core, std::vector<std::unique_ptr<Job>> components,
                                       bool only_now)
    : core_(core), components_(std::move(components)), only_now_(only_now), now_(core.now()) {
  if (components_.size() == 1) {
    partitions_ = components_.front()->submission->partitions;
  } else {
    partitions_ = {""};  // each component has its own
  }
}

bool SubmissionForecast::go_on() {
  if (next_ == partitions_.size()) return true;
  if (!forecast_) {
    begin();
    if (forecast_) return false;
  } else {
    if (!go_on_for_a_slice(*forecast_)) return false;
    if (const auto expected = forecast_->start()) consider(forecast_->layout(), *expected);
    forecast_.reset();
    if (components_.size() == 1) consider_preemption();
  }
  return ++next_ == partitions_.size();
}

void SubmissionForecast::consider(const sched::MachineLayout& layout, const sched::ExpectedStart& expected) {
  if (best_ && best_->start <= expected.start) return;
  best_ = Best{expected.start, expected.after_unlimited, sched::to_model(layout, expected.placement)};
}

void SubmissionForecast::begin() {
  const auto entry = components_.size() == 1
                         ? core_.scheduling->hypothetical_entry(*components_.front(), partitions_[next_])
                         : core_.scheduling->hypothetical_entry(components_);
  if (!entry) return;
  sched::ForecastOptions options = core_.history->beliefs();
  if (only_now_) options.max_passes = 1;
  const sched::PendingEntry pending{
      .id = sched::kHypotheticalEntry, .priority = entry->priority, .order = ~uint64_t{0}, .startable = 1};
  forecast_ = sched::ForecastInPieces::forecast_later(core_.world->machine(), core_.world->queue(),
                                                      core_.world->running(), pending, entry->request,
                                                      entry->from, now_, options);
}

void SubmissionForecast::consider_preemption() {
  Job& job = *components_.front();
  if (!core_.config.preemption.enabled() || job.eligible_time > now_ || (best_ && best_->start <= now_))
    return;
  // Nodes, partitions and limits may be others than when the forecast was begun.
  const auto entry = core_.scheduling->hypothetical_entry(job, partitions_[next_]);
  if (!entry || sched::refused(core_.accounts->gate(), entry->request)) return;
  const auto room = core_.preemption->foresee(job, entry->partition, entry->request, core_.world->machine(),
                                              core_.world->running());
  if (room) consider(core_.world->machine().layout(), *room);
}

}  // namespace minke::engine
