// Steps that wait for room in their job, their charges meanwhile, and
// steps that are requested again.
#include <algorithm>
#include <iterator>
#include <utility>

#include "api/steps.pb.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "engine/embedded/steps/steps.h"
#include "model/error.h"
#include "store/job_row.h"
#include "store/store.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr size_t kMostStartedAtOnce = 100;  // others get their turn in between

}  // namespace

Result<Steps::Charges> Steps::charges_for(uint32_t uid, const api::CreateStepRequest& request,
                                          size_t descriptors) {
  auto step = core_.rights->budgets().take(uid, config::Budget::kSteps, 1);
  if (!step) return failure(step.error());
  auto bytes = core_.rights->budgets().take(uid, config::Budget::kWaitingStepBytes, request.ByteSizeLong());
  if (!bytes) return failure(bytes.error());
  auto held = core_.rights->budgets().take(uid, config::Budget::kDescriptors, descriptors);
  if (!held) return failure(held.error());
  // What its record will have of it; whether the step is refused later or not.
  const api::StepSpec& spec = request.spec();
  const uint64_t recorded =
      spec.submit_line().size() + spec.name().size() + (spec.argv().empty() ? 0 : spec.argv(0).size());
  const Status paid = core_.rights->budgets().spend(uid, config::Budget::kStoredBytes, recorded, core_.now());
  if (!paid) return failure(paid.error());
  return Charges{std::move(*step), std::move(*bytes), std::move(*held)};
}

void Steps::find_ended(uint32_t uid, Waiting resent) {
  // Goes to the store's thread and back; only this thread uses it.
  auto waiting = std::make_shared<Waiting>(std::move(resent));
  // The step may have ended a moment ago, with its record still being stored.
  core_.committer.when_durable([this, uid, waiting] {
    auto found = std::make_shared<bool>(false);
    store::AccountingQuery query;
    query.asker = uid;
    query.job_ids = {waiting->request.job_id()};
    query.with_steps = true;
    core_.store.query(std::move(query), [this, waiting, found](auto chunk) {
      core_.loop.post(
          [this, waiting, found, chunk = std::move(chunk)] { find_ended_in(chunk, *waiting, *found); });
    });
  });
}

void Steps::find_ended_in(const Result<std::vector<store::AccountedJob>>& chunk, Waiting& waiting,
                          bool& found) {
  api::StepEvent event;
  if (chunk) {
    for (const store::AccountedJob& job : *chunk) {
      for (const StepRecord& step : job.steps) {
        if (step.key() != waiting.request.key()) continue;
        found = true;
        *event.mutable_ended()->mutable_step() = step;
        event.mutable_ended()->set_launch_error(step.launch_error());
        waiting.report(event);
      }
    }
  }
  const bool more = chunk && !chunk->empty();
  if (found || more) return;
  Job* job = core_.state.find(waiting.request.job_id());
  const Report report = waiting.report;
  const Status created = job == nullptr     ? Status(failure("", kAlreadyDone))
                         : !waiting.refused ? waiting.refused
                                            : create_new(*job, std::move(waiting));
  if (created) return;
  const std::string text(slurm_error_text(created.error().code));
  event.mutable_ended()->set_launch_error(text.empty() ? created.error().message : text);
  report(event);
}

void Steps::start_waiting(uint32_t job_id) {
  const auto steps = jobs_.find(job_id);
  Job* job = core_.state.find(job_id);
  if (steps == jobs_.end() || job == nullptr || job->state != JOB_RUNNING) return;
  // In order, but a small step may use what the first one cannot; in Slurm, too, steps retry independently.
  std::deque<Waiting> waiting = std::exchange(steps->second.waiting, {});
  std::vector<StepNode> nodes = nodes_of(*job, steps->second);
  size_t started = 0;
  while (!waiting.empty() && started < kMostStartedAtOnce) {
    Waiting next = std::move(waiting.front());
    waiting.pop_front();
    const auto layout = lay_out_step(next.request.spec(), nodes);
    if (layout) {
      const Step& step = start(*job, std::move(next), *layout);
      for (StepNode& node : nodes) add_held(step.tag, node);
      ++started;
    } else {
      steps->second.waiting.push_back(std::move(next));
    }
  }
  if (!waiting.empty()) {
    std::move(waiting.begin(), waiting.end(), std::back_inserter(steps->second.waiting));
    core_.loop.post([this, job_id] { start_waiting(job_id); });
  }
  if (steps->second.running.empty() && steps->second.waiting.empty()) jobs_.erase(steps);
}

}  // namespace minke::engine
