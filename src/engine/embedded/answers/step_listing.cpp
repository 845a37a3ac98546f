// Lists running steps, their usage and their processes, a few at a time, because one job may have very many.
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/job_filter.pb.h"
#include "api/step_usage.pb.h"
#include "api/steps.pb.h"
#include "engine/embedded/answers/job_walk.h"
#include "engine/embedded/answers/listing_in_pieces.h"
#include "engine/embedded/answers/long_queries.h"
#include "engine/embedded/core.h"
#include "engine/embedded/launching/confining.h"
#include "engine/embedded/state/job_matcher.h"
#include "engine/embedded/steps/step_usage.h"
#include "engine/embedded/steps/steps.h"
#include "engine/embedded/watching/measuring.h"
#include "model/interactive_step.h"
#include "model/script_node.h"
#include "node/launcher.h"
#include "node/process_tree.h"
#include "text/number.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr size_t kStepsAtOnce = 50;
constexpr int kJobsAtOnce = 10;
constexpr int kProcessesAtOnce = 10;

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
        walk_(core.state, filter),
        filter_(filter),
        matcher_(filter_, viewer) {}

  virtual void show_script(const Job& job, const JobRecord& record) = 0;
  // Shows at most `most` steps from `from` on. Returns the next number; nothing if there are no more.
  virtual std::optional<uint32_t> show_steps(const Job& job, uint32_t from, size_t most) = 0;

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

  Core& core_;

 private:
  struct Place {
    uint32_t job_id, step_id;
  };

  void begin_piece() override { walk_.begin_piece(); }

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
    reply<api::StepsReply>().set_now(core.now());
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

  void clear_records() override { reply<api::StepsReply>().clear_steps(); }

  void show(StepRecord step) {
    mark_tracked(core_.config.accounting, *step.mutable_tres_gres());
    added(step.ByteSizeLong());
    *reply<api::StepsReply>().add_steps() = std::move(step);
  }
};

class StepUsageListing final : public StepWalk {
 public:
  StepUsageListing(Core& core, Queries& queries, const api::QueryStepUsageRequest& request, Viewer viewer,
                   LongAnswer& answer)
      : StepWalk(core, queries, request.filter(), viewer, answer) {
    reply<api::StepUsageReply>().set_now(core.now());
  }

 private:
  // A step's processes, before the next steps are looked for.
  bool show_next() override {
    if (parents_.read_some()) return true;
    if (unread_.empty()) return StepWalk::show_next();
    if (unread_.front().read_some(parents_)) return true;
    api::StepUsage& usage = *reply<api::StepUsageReply>().add_steps();
    usage = std::move(unread_.front().usage());
    mark_tracked(core_.config.accounting, *usage.mutable_step()->mutable_tres_gres());
    unread_.pop_front();
    added(usage.ByteSizeLong());
    return true;
  }

  void show_script(const Job& job, const JobRecord& record) override {
    api::StepUsage usage;
    *usage.mutable_step() = batch_step(job, record);
    usage.set_job_submit_time(job.submit_time);
    core_.measuring->add_usage(job, *usage.mutable_step(), gpu_devices_of(core_, job));
    usage.add_tasks()->set_node(record.batch_host());
    unread_.emplace_back(std::move(usage), std::vector<pid_t>{job.details->batch_pid});
  }

  std::optional<uint32_t> show_steps(const Job& job, uint32_t from, size_t most) override {
    std::vector<StepUsageReader> steps = core_.steps->usage_of(job, from, most);
    const bool all = steps.size() < most;
    const uint32_t next = all ? 0 : steps.back().usage().step().step_id() + 1;
    for (StepUsageReader& step : steps) unread_.push_back(std::move(step));
    return all ? std::nullopt : std::optional(next);
  }

  void clear_records() override { reply<api::StepUsageReply>().clear_steps(); }

  ProcessParents parents_;
  std::deque<StepUsageReader> unread_;
};

// The processes of jobs that run, as /proc shows them: one after the other of all that the machine has.
class ProcessListing final : public ListingInPieces {
 public:
  ProcessListing(Core& core, const api::QueryPidsRequest& request, Viewer viewer, LongAnswer& answer)
      : ListingInPieces(answer, kProcessesAtOnce),
        core_(core),
        request_(request),
        matcher_(request_.filter(), viewer),
        prefix_(node::launcher_home_id(core.config.home) + "/"),
        pids_(node::list_pids()) {
    reply<api::PidsReply>();
  }

 private:
  bool show_next() override {
    if (next_ == pids_.size()) return false;
    const pid_t pid = pids_[next_++];
    const node::InitialEnvironment environment(pid);
    if (const Job* job = job_of(environment)) show(pid, *job, environment);
    return true;
  }

  const Job* job_of(const node::InitialEnvironment& environment) const {
    const auto marker = environment.get(node::kLaunchMarker);
    if (!marker || !marker->starts_with(prefix_)) return nullptr;
    const auto id = text::parse_unsigned(
        marker->substr(prefix_.size(), marker->find('.', prefix_.size()) - prefix_.size()), 0xffffffff);
    const Job* job = id ? core_.state.find(static_cast<uint32_t>(*id)) : nullptr;
    return job != nullptr && job->holds_nodes() && matcher_.selected(*job) ? job : nullptr;
  }

  static std::optional<uint32_t> number(const node::InitialEnvironment& environment, const char* name) {
    const auto value = environment.get(name);
    const auto number = value ? text::parse_unsigned(*value, 0xffffffff) : std::nullopt;
    return number ? std::optional(static_cast<uint32_t>(*number)) : std::nullopt;
  }

  void show(pid_t pid, const Job& job, const node::InitialEnvironment& environment) {
    const auto step = number(environment, "SLURM_STEP_ID");
    if (request_.batch_only() ? step.has_value() : request_.has_step_id() && step != request_.step_id())
      return;
    const auto process = node::read_process(pid);
    if (!process) return;
    api::PidsReply::Process& found = *reply<api::PidsReply>().add_processes();
    found.set_pid(static_cast<uint32_t>(pid));
    found.set_job_id(job.id);
    found.set_kind(!step ? STEP_BATCH : *step == kInteractiveStep ? STEP_INTERACTIVE : STEP_NORMAL);
    found.set_step_id(step.value_or(0));
    // A task itself leads its session; what it started has its numbers in the environment too.
    if (process->session == pid) {
      found.set_local_id(number(environment, "SLURM_LOCALID").value_or(0));
      found.set_global_id(number(environment, "SLURM_PROCID").value_or(0));
    }
    added(found.ByteSizeLong());
  }

  void clear_records() override { reply<api::PidsReply>().clear_processes(); }

  Core& core_;
  const api::QueryPidsRequest request_;
  const JobMatcher matcher_;
  const std::string prefix_;
  const std::vector<pid_t> pids_;
  size_t next_ = 0;
};

}  // namespace

void list_steps(Core& core, Queries& queries, const api::QueryStepsRequest& request, Viewer viewer,
                LongAnswer& answer) {
  const auto listing = std::make_shared<StepListing>(core, queries, request, viewer, answer);
  answer.keep(listing);
  listing->begin();
}

void list_processes(Core& core, const api::QueryPidsRequest& request, Viewer viewer, LongAnswer& answer) {
  const auto listing = std::make_shared<ProcessListing>(core, request, viewer, answer);
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
