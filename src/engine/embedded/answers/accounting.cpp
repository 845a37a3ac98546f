// The accounting records for sacct and seff: from the store, updated with what is in memory.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "api/accounting.pb.h"
#include "engine/embedded/answers/long_queries.h"
#include "engine/embedded/answers/stored_jobs.h"
#include "engine/embedded/core.h"
#include "engine/embedded/steps/steps.h"
#include "model/script_node.h"
#include "rpc/envelope.h"
#include "store/job_row.h"
#include "store/schema.h"
#include "store/store.h"

namespace minke::engine {

using namespace model;

namespace {

// Records that a request for the newest looks at, where most do not fit its filter: some 100 ms.
constexpr uint64_t kMostLookedAt = 5000;

void apply_notes(JobRecord& record) {
  const RecordNotes& notes = record.notes();
  JobSpec& spec = *record.mutable_spec();
  if (notes.has_comment()) spec.set_comment(notes.comment());
  if (notes.has_admin_comment()) spec.set_admin_comment(notes.admin_comment());
  if (notes.has_wckey()) spec.set_wckey(notes.wckey());
  if (notes.has_extra()) spec.set_extra(notes.extra());
}

// For a job without other steps, the batch step stands for the job.
StepRecord only_step(const JobRecord& record) {
  StepRecord step;
  step.set_job_id(record.job_id());
  step.set_kind(STEP_BATCH);
  step.set_name("batch");
  step.set_state(record.state() == JOB_TIMEOUT || record.state() == JOB_REQUEUED ? JOB_CANCELLED
                                                                                 : record.state());
  step.set_exit_code(record.exit_code());
  step.set_start_time(record.start_time());
  const bool runs = record.state() == JOB_RUNNING || record.state() == JOB_SUSPENDED;
  step.set_end_time(runs ? 0 : record.end_time());
  step.set_node_list(record.batch_host());
  step.set_num_nodes(1);
  step.set_num_tasks(1);
  step.set_num_cpus(record.num_cpus());
  if (record.nodes_size() > 0) add_holdings(step, model::script_node(record));
  step.set_array_job_id(record.array_job_id());
  if (record.has_array_task_id()) step.set_array_task_id(record.array_task_id());
  *step.mutable_usage() = record.usage();
  return step;
}

class AccountingReport final : public std::enable_shared_from_this<AccountingReport> {
 public:
  AccountingReport(Core& core, Queries& queries, const api::QueryAccountingRequest& request, Viewer viewer,
                   LongAnswer& answer)
      : core_(core),
        queries_(queries),
        answer_(answer),
        request_(request),
        matcher_(request_.filter(), viewer),
        viewer_(viewer) {}

  void begin() {
    // The answer must include everything so far. If nothing can be written,
    // waiting for that would be useless.
    core_.committer.when_stored([weak = weak_from_this()](const Status&) {
      const auto self = weak.lock();
      if (!self) return;
      self->answer_.next([weak] {
        if (const auto still = weak.lock()) still->read();
      });
    });
  }

 private:
  void read() {
    store::AccountingQuery query;
    query.asker = viewer_.uid;
    query.job_ids = stored_ids(request_.filter(), core_.store);
    query.from = request_.from();
    query.until = request_.until();
    query.with_steps = request_.with_steps();
    query.duplicates = request_.duplicates();
    query.uids.assign(request_.filter().uids().begin(), request_.filter().uids().end());
    if (!viewer_.sees_all) query.uids = {viewer_.uid};
    query.newest_first = request_.newest() != 0;
    query.behind_end = request_.behind().end_time();
    query.behind_run = store::run_key(request_.behind().job_id(), request_.behind().restarts() & INT32_MAX);
    query.names.assign(request_.filter().names().begin(), request_.filter().names().end());
    stored_.emplace(core_, answer_, std::move(query),
                    [this](Result<std::vector<store::AccountedJob>>& chunk) { return show(chunk); });
  }

  // False: there is no more.
  bool show(Result<std::vector<store::AccountedJob>>& chunk) {
    rpc::AnswerEnvelope message;
    bool last = !chunk || chunk->empty();
    if (!chunk) {
      rpc::set_error(message.message(), chunk.error());
    } else {
      api::AccountingReply& reply = message.body<api::AccountingReply>();
      reply.set_now(core_.now());
      for (store::AccountedJob& stored : *chunk) {
        const api::AccountingPlace place = place_of(stored.job.record);
        add(stored, reply);
        ++looked_at_;
        if (request_.newest() == 0) continue;
        last = shown_ == request_.newest() || looked_at_ == kMostLookedAt;
        if (!last) continue;
        *reply.mutable_next() = place;
        break;
      }
    }
    answer_.send(message.message(), last);
    if (last) answer_.end();
    return !last;
  }

  void add(store::AccountedJob& stored, api::AccountingReply& reply) {
    api::AccountedJob accounted;
    JobRecord& record = *accounted.mutable_job();
    const Job* job = core_.state.find(stored.job.record.job_id());
    if (job != nullptr && job->restarts == stored.job.record.restarts()) {
      record = queries_.full_record(*job);
    } else {
      record = std::move(stored.job.record);
      *record.mutable_spec() = std::move(stored.spec);
      apply_notes(record);
      queries_.complete(record, nullptr, !request_.brief());
    }
    if (!matcher_.selected(record) || !matcher_.passes(record) || !matcher_.has_state(record.state())) return;
    if (request_.with_steps() && record.start_time() != 0 && record.state() != JOB_PENDING)
      add_steps(stored, job, accounted);
    if (request_.brief()) make_brief(record);
    *reply.add_jobs() = std::move(accounted);
    ++shown_;
  }

  static void make_brief(JobRecord& record) {
    record.set_name(record.spec().name());
    record.clear_spec();
    record.clear_metrics();
    record.clear_notes();
    for (const auto clear :
         {&JobRecord::clear_stdin_path, &JobRecord::clear_stdout_path, &JobRecord::clear_stderr_path})
      (record.*clear)();
  }

  static api::AccountingPlace place_of(const JobRecord& record) {
    api::AccountingPlace place;
    place.set_end_time(record.end_time());
    place.set_job_id(record.job_id());
    place.set_restarts(record.restarts());
    return place;
  }

  void add_steps(store::AccountedJob& stored, const Job* job, api::AccountedJob& accounted) {
    const JobRecord& record = accounted.job();
    const bool has_batch = std::any_of(stored.steps.begin(), stored.steps.end(),
                                       [](const StepRecord& step) { return step.kind() == STEP_BATCH; });
    // The script of a heterogeneous job runs in its first component.
    const bool runs_script = !record.spec().interactive() && record.het_job_offset() == 0;
    if (runs_script && !has_batch) *accounted.add_steps() = only_step(record);
    for (StepRecord& step : stored.steps) *accounted.add_steps() = std::move(step);
    if (job != nullptr && job->restarts == record.restarts()) {
      for (StepRecord& step : core_.steps->of_job(record.job_id())) *accounted.add_steps() = std::move(step);
    }
    for (StepRecord& step : *accounted.mutable_steps())
      mark_tracked(core_.config.accounting, *step.mutable_tres_gres());
  }

  Core& core_;
  Queries& queries_;
  LongAnswer& answer_;
  const api::QueryAccountingRequest request_;
  const JobMatcher matcher_;
  const Viewer viewer_;
  std::optional<StoredJobs> stored_;
  uint64_t looked_at_ = 0, shown_ = 0;
};

}  // namespace

void report_accounting(Core& core, Queries& queries, const api::QueryAccountingRequest& request,
                       Viewer viewer, LongAnswer& answer) {
  const auto report = std::make_shared<AccountingReport>(core, queries, request, viewer, answer);
  answer.keep(report);
  report->begin();
}

}  // namespace minke::engine
