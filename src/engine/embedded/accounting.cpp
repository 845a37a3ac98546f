// The accounting record, for sacct and seff: what the store has, brought up to date with what is in memory.
#include <algorithm>
#include <memory>
#include <utility>

#include "api/accounting.pb.h"
#include "engine/embedded/core.h"
#include "engine/embedded/queries.h"
#include "engine/embedded/steps.h"
#include "model/script_node.h"
#include "rpc/messages.pb.h"

namespace minke::engine {

using namespace model;

namespace {

void apply_notes(JobRecord& record) {
  const RecordNotes& notes = record.notes();
  JobSpec& spec = *record.mutable_spec();
  if (notes.has_comment()) spec.set_comment(notes.comment());
  if (notes.has_admin_comment()) spec.set_admin_comment(notes.admin_comment());
  if (notes.has_wckey()) spec.set_wckey(notes.wckey());
  if (notes.has_extra()) spec.set_extra(notes.extra());
}

}  // namespace

void Queries::accounting(const api::QueryAccountingRequest& given, Viewer viewer, Part part) {
  const auto asked = std::make_shared<const api::QueryAccountingRequest>(given);
  const api::QueryAccountingRequest& request = *asked;
  const auto matcher = std::make_shared<const JobMatcher>(request.filter(), viewer);
  store::AccountingQuery query;
  query.job_ids = stored_ids(request.filter(), core_.store);
  query.from = request.from();
  query.until = request.until();
  query.with_steps = request.with_steps();
  query.duplicates = request.duplicates();
  query.uids.assign(request.filter().uids().begin(), request.filter().uids().end());
  if (!viewer.sees_all) query.uids = {viewer.uid};
  query.names.assign(request.filter().names().begin(), request.filter().names().end());
  const auto ask = [this, part, asked, matcher, query] {
    core_.store.query(query, [this, part, asked, matcher](auto chunk) {
      core_.loop.post([this, part, asked, matcher, chunk = std::move(chunk)]() mutable {
        rpc::ServerMessage message;
        message.mutable_accounting()->set_now(core_.now());
        if (!chunk) {
          set_error(message, chunk.error());
          part(message, true);
          return;
        }
        const bool last = chunk->empty();
        for (store::AccountedJob& stored : *chunk) {
          api::AccountedJob accounted;
          JobRecord& record = *accounted.mutable_job();
          const Job* job = core_.state.find(stored.job.record.job_id());
          if (job != nullptr && job->restarts == stored.job.record.restarts()) {
            record = full_record(*job);
          } else {
            record = std::move(stored.job.record);
            *record.mutable_spec() = std::move(stored.spec);
            apply_notes(record);
            complete(record, nullptr);
          }
          if (!matcher->selected(record) || !matcher->passes(record) || !matcher->has_state(record.state()))
            continue;
          if (asked->with_steps() && record.start_time() != 0 && record.state() != JOB_PENDING) {
            const bool has_batch =
                std::any_of(stored.steps.begin(), stored.steps.end(),
                            [](const StepRecord& step) { return step.kind() == STEP_BATCH; });
            if (!record.spec().interactive() && !has_batch) {
              // A job without other steps: its batch step is the job.
              StepRecord& step = *accounted.add_steps();
              step.set_job_id(record.job_id());
              step.set_kind(STEP_BATCH);
              step.set_name("batch");
              step.set_state(record.state() == JOB_TIMEOUT || record.state() == JOB_REQUEUED
                                 ? JOB_CANCELLED
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
            }
            for (StepRecord& step : stored.steps) *accounted.add_steps() = std::move(step);
            if (job != nullptr && job->restarts == record.restarts()) {
              for (StepRecord& step : core_.steps->of_job(record.job_id()))
                *accounted.add_steps() = std::move(step);
            }
          }
          *message.mutable_accounting()->add_jobs() = std::move(accounted);
        }
        part(message, last);
      });
    });
  };
  // What has happened so far is to be in the answer. Where nothing can be written, there is no use in waiting
  // for it.
  core_.committer.when_stored([ask](const Status&) { ask(); });
}

}  // namespace minke::engine
