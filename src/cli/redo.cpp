#include "cli/redo.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <set>
#include <vector>

#include "api/accounting.pb.h"
#include "api/job_filter.pb.h"
#include "api/submission.pb.h"
#include "cli/batch_submission.h"
#include "cli/complain.h"
#include "cli/srun/launch_environment.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "submit/job_request.h"
#include "text/array_spec.h"
#include "text/job_id.h"
#include "view/text.h"

namespace minke::cli {
namespace {

using model::JobRecord;

// The records of the job, or of all tasks of its array; the last run of each.
Result<std::vector<JobRecord>> find_records(engine::Engine& cluster, const text::JobReference& wanted) {
  api::JobFilter filter;
  *filter.add_jobs() = engine::selector_of(wanted);
  filter.set_all_states(true);
  api::QueryAccountingRequest query;
  *query.mutable_filter() = filter;
  std::vector<JobRecord> records;
  const auto found = engine::fetch_accounting(cluster, query);
  if (!found && found.error().code != model::kInvalidJobId) return failure(found.error());
  if (found)
    for (const api::AccountedJob* one : found->records) records.push_back(one->job());
  if (records.empty()) return failure(no_such_job(text::format_job_id(wanted)));
  return records;
}

bool has_failed(const JobRecord& job) {
  return view::is_finished(job.state()) && job.state() != model::JOB_COMPLETE;
}

Status check(const JobRecord& job) {
  const std::string name = text::format_job_id(job);
  if (job.uid() != ::getuid()) return failure("job " + name + " is of " + job.user_name() + ", not yours");
  if (job.spec().interactive())
    return failure("job " + name + " has no script, for salloc or srun began it; type that command again: " +
                   job.spec().submit_line());
  if (job.spec().external()) return failure("job " + name + " has no script (--external)");
  if (job.spec().has_cron())
    return failure("job " + name + " is of a crontab, and recurs by itself (scrontab -l)");
  if (job.het_job_id() != 0)
    return failure("job " + name + " has several components; submit its script again: sbatch " +
                   job.spec().command());
  return {};
}

// What the user asked for, without what was added to it and what has passed.
model::JobSpec asked_again(const JobRecord& job) {
  model::JobSpec spec = job.spec();
  const int64_t now = std::time(nullptr);
  if (spec.partition_by_default()) spec.clear_partition();
  if (spec.memory_by_default()) spec.clear_mem_per_cpu_mib(), spec.clear_mem_per_node_mib();
  if (spec.cpus_per_gpu_by_default()) spec.clear_cpus_per_gpu();
  if (spec.mem_per_gpu_by_default()) spec.clear_mem_per_gpu_mib();
  spec.clear_partition_by_default();
  spec.clear_memory_by_default();
  spec.clear_cpus_per_gpu_by_default();
  spec.clear_mem_per_gpu_by_default();
  spec.clear_dependencies();
  spec.clear_hold();
  spec.clear_resource_limits();  // those of this shell count
  if (spec.begin_time() <= now) spec.clear_begin_time();
  if (spec.deadline() <= now) spec.clear_deadline();
  return spec;
}

// Has the tasks of these records, and no others, in the array that is submitted.
Status choose_tasks(const std::vector<JobRecord>& records, const RedoOptions& options, bool names_tasks,
                    model::JobSpec& spec) {
  if (!spec.has_array()) {
    if (options.failed && !has_failed(records.front()))
      return failure("job " + options.job + " has not failed: it is " +
                     std::string(view::state_text(records.front())) +
                     "; without --failed it is submitted again");
    return {};
  }
  if (!options.failed && !names_tasks) return {};  // the whole array as it was
  std::set<uint32_t> tasks;
  for (const JobRecord& one : records)
    if (one.has_array_task_id() && (!options.failed || has_failed(one))) tasks.insert(one.array_task_id());
  if (tasks.empty())
    return failure("no task of " + options.job + (options.failed ? " has failed" : " has begun"));
  spec.mutable_array()->clear_ranges();
  for (const uint32_t task : tasks) {
    auto* ranges = spec.mutable_array()->mutable_ranges();
    if (!ranges->empty() && ranges->rbegin()->last() + 1 == task) {
      ranges->rbegin()->set_last(task);
    } else {
      model::IndexRange& range = *ranges->Add();
      range.set_first(task);
      range.set_last(task);
      range.set_step(1);
    }
  }
  return {};
}

}  // namespace

int redo(const RedoOptions& options, int argc, char** argv) {
  const auto wanted = text::parse_job_id(options.job);
  if (!wanted || wanted->step)
    return complain(
        Error{0, "\"" + options.job + "\" is no job id: write 12, or 12_3 for a task of an array"});
  const auto cluster = engine::open();
  if (!cluster) return complain(cluster.error());
  const auto records = find_records(**cluster, *wanted);
  if (!records) return complain(records.error());
  const JobRecord& first = records->front();
  if (const Status possible = check(first); !possible) return complain(possible.error());
  submit::JobRequest request;
  request.command = submit::Command::kSbatch;
  request.spec = asked_again(first);
  // A task has a number of its own, too.
  const bool names_tasks = wanted->tasks.ranges_size() > 0 || wanted->job_id != first.array_job_id();
  if (const Status chosen = choose_tasks(*records, options, names_tasks, request.spec); !chosen)
    return complain(chosen.error());
  auto script = (*cluster)->script(first.job_id());
  if (!script)
    return complain(Error{0, "the script of job " + options.job + " is no longer kept (" +
                                 script.error().message +
                                 "); submit it again: " + first.spec().submit_line()});
  request.script = std::move(*script);
  submit::Invocation invocation = current_invocation(submit::Command::kSbatch, argc, argv);
  invocation.working_directory = request.spec.work_dir();
  const auto submitted = submit_batch(**cluster, invocation, request, argc, argv);
  if (!submitted) return complain(submitted.error());
  for (const std::string& note : submitted->notes()) std::fprintf(stderr, "minke: %s\n", note.c_str());
  std::printf("Submitted batch job %u\n", submitted->job_id());
  return 0;
}

}  // namespace minke::cli
