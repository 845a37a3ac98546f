// Lists running steps and their usage, step by step, because one job may have very many.
#include <memory>
#include <optional>
#include <utility>

#include "api/job_filter.pb.h"
#include "api/step_usage.pb.h"
#include "api/steps.pb.h"
#include "engine/embedded/answers/listing_in_pieces.h"
#include "engine/embedded/answers/long_queries.h"
#include "engine/embedded/core.h"
#include "engine/embedded/launching/confining.h"
#include "engine/embedded/state/job_matcher.h"
#include "engine/embedded/steps/step_usage.h"
#include "engine/embedded/steps/steps.h"
#include "engine/embedded/watching/measuring.h"
#include "model/script_node.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr size_t kStepsAtOnce = 50;
constexpr int kJobsAtOnce = 10;

StepRecord batch_step(const Job& job, const JobRecord& record) {
  StepRecord step;
  step.set_job_id(job.id);
  step.set_kind(STEP_BATCH);
  step.set_name("batch");
  step.set_state(job.state);
  step.set_start_time(job.start_time);
  step.set_node_list(record.batch_host());
  step.set_num_nodes(1);
  step.set_num_tasks(1);
  if (record.nodes_size() > 0) add_holdings(step, model::script_node(record));
  step.set_array_job_id(job.array_job_id);
  if (job.array_task != kNoTask) step.set_array_task_id(job.array_task);
  return step;
}

// For each selected job: first the script as a step, then its steps by number.
class StepWalk : public ListingInPieces {
 protected:
  StepWalk(Core& core, Queries& queries, const api::JobFilter& filter, Viewer viewer, LongAnswer& answer)
      : ListingInPieces(answer, kJobsAtOnce),
        core_(core),
        queries_(queries),
        walk_(core.state),
        filter_(filter),
        matcher_(filter_, viewer) {}

  virtual void show_script(const Job& job, const JobRecord& record) = 0;
  // Shows at most `most` steps from `from` on. Returns the next number; nothing if there are no more.
  virtual std::optional<uint32_t> show_steps(const Job& job, uint32_t from, size_t most) = 0;

  Core& core_;

 private:
  struct Place {
    uint32_t job_id, step_id;
  };

  void begin_piece() override { walk_.begin_piece(); }

  bool show_next() override {
    const Job* job = walk_.job();
    if (job == nullptr) return false;
    const auto next = show(*job);
    if (next) {
      within_ = Place{job->id, *next};
    } else {
      within_.reset();
      walk_.advance();
    }
    return true;
  }

  std::optional<uint32_t> show(const Job& job) {
    if (!job.holds_nodes() || job.completing || !matcher_.selected(job)) return std::nullopt;
    if (within_ && within_->job_id == job.id) return show_steps(job, within_->step_id, kStepsAtOnce);
    const JobRecord record = queries_.full_record(job);
    if (!matcher_.passes(record)) return std::nullopt;
    if (job.has_script()) show_script(job, record);
    return show_steps(job, 0, kStepsAtOnce);
  }

  Queries& queries_;
  JobWalk walk_;
  const api::JobFilter filter_;
  const JobMatcher matcher_;
  std::optional<Place> within_;  // a job with some steps shown already
};

class StepListing final : public StepWalk {
 public:
  StepListing(Core& core, Queries& queries, const api::QueryStepsRequest& request, Viewer viewer,
              LongAnswer& answer)
      : StepWalk(core, queries, request.filter(), viewer, answer) {
    message_.mutable_steps()->set_now(core.now());
  }

 private:
  void show_script(const Job& job, const JobRecord& record) override { show(batch_step(job, record)); }

  std::optional<uint32_t> show_steps(const Job& job, uint32_t from, size_t most) override {
    std::vector<StepRecord> steps = core_.steps->of_job(job.id, from, most);
    const bool all = steps.size() < most;
    const uint32_t next = all ? 0 : steps.back().step_id() + 1;
    for (StepRecord& step : steps) show(std::move(step));
    return all ? std::nullopt : std::optional(next);
  }

  void clear_records() override { message_.mutable_steps()->clear_steps(); }

  void show(StepRecord step) {
    step.clear_submit_line();  // only accounting shows it
    added(step.ByteSizeLong());
    *message_.mutable_steps()->add_steps() = std::move(step);
  }
};

class StepUsageListing final : public StepWalk {
 public:
  StepUsageListing(Core& core, Queries& queries, const api::QueryStepUsageRequest& request, Viewer viewer,
                   LongAnswer& answer)
      : StepWalk(core, queries, request.filter(), viewer, answer) {
    message_.mutable_step_usage()->set_now(core.now());
  }

 private:
  void show_script(const Job& job, const JobRecord& record) override {
    api::StepUsage& usage = *message_.mutable_step_usage()->add_steps();
    *usage.mutable_step() = batch_step(job, record);
    core_.measuring->add_usage(job, *usage.mutable_step(), gpu_devices_of(core_, job));
    api::TaskUsage& task = *usage.add_tasks();
    task.set_node(record.batch_host());
    reader_.read(job.details->batch_pid, task);
    added(usage.ByteSizeLong());
  }

  std::optional<uint32_t> show_steps(const Job& job, uint32_t from, size_t most) override {
    api::StepUsageReply& reply = *message_.mutable_step_usage();
    const int before = reply.steps_size();
    core_.steps->add_usage(job, reader_, reply, from, most);
    for (int i = before; i < reply.steps_size(); ++i) added(reply.steps(i).ByteSizeLong());
    if (static_cast<size_t>(reply.steps_size() - before) < most) return std::nullopt;
    return reply.steps(reply.steps_size() - 1).step().step_id() + 1;
  }

  void clear_records() override { message_.mutable_step_usage()->clear_steps(); }

  const UsageReader reader_;
};

}  // namespace

void list_steps(Core& core, Queries& queries, const api::QueryStepsRequest& request, Viewer viewer,
                LongAnswer& answer) {
  const auto listing = std::make_shared<StepListing>(core, queries, request, viewer, answer);
  answer.keep(listing);
  listing->begin();
}

void list_step_usage(Core& core, Queries& queries, const api::QueryStepUsageRequest& request, Viewer viewer,
                     LongAnswer& answer) {
  const auto listing = std::make_shared<StepUsageListing>(core, queries, request, viewer, answer);
  answer.keep(listing);
  listing->begin();
}

}  // namespace minke::engine
