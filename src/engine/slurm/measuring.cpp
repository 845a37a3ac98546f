// SlurmEngine: what the user's running jobs use: by the agents on their nodes, where there are some; else by
// sstat, which asks slurmd. All jobs are asked for at once, once in the period of an answer. sstat tells
// totals of each step: the cores are a job's mean since its start then, and of GPUs it tells nothing here.
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "api/measurements.pb.h"
#include "api/step_usage.pb.h"
#include "engine/embedded/state/job_matcher.h"
#include "engine/slurm/slurm_engine.h"
#include "engine/slurm/step_use.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"

namespace minke::engine::slurm {
namespace {

constexpr size_t kMostJobs = 500;  // of which sstat is asked

bool is_running(const model::JobRecord& job) {
  return job.state() == model::JOB_RUNNING && !job.completing();
}

void add_to(model::Sample& sample, const StepUse& use) {
  sample.set_cpu_milliseconds(sample.cpu_milliseconds() + use.cpu_milliseconds);
  sample.set_memory_kib(sample.memory_kib() + use.memory_kib);
  sample.set_read_kib(sample.read_kib() + use.read_kib);
  sample.set_write_kib(sample.write_kib() + use.write_kib);
}

}  // namespace

Status SlurmEngine::ask_usage(bool with_series, const Take<api::MeasurementsReply>& take) {
  api::MeasurementsReply reply;
  api::QueryJobsRequest own;
  own.mutable_filter()->add_uids(::getuid());
  const Status listed = jobs(own, [&](api::JobsReply& part) -> Status {
    for (model::JobRecord& job : *part.mutable_jobs()) {
      if (!is_running(job) || static_cast<size_t>(reply.jobs_size()) == kMostJobs) continue;
      job.set_name(job.spec().name());
      job.clear_spec();
      *reply.add_jobs()->mutable_job() = std::move(job);
    }
    return {};
  });
  if (!listed) return listed;
  if (reply.jobs().empty()) return take(reply);
  const std::set<uint32_t> measured = ask_nodes(with_series, reply);
  std::map<uint32_t, api::JobMeasurement*> by_id;
  std::string ids;
  for (api::JobMeasurement& one : *reply.mutable_jobs()) {
    if (measured.contains(one.job().job_id())) continue;
    by_id.emplace(one.job().job_id(), &one);
    ids += (ids.empty() ? "" : ",") + std::to_string(one.job().job_id());
  }
  if (ids.empty()) return take(reply);
  std::vector<std::string> words = step_use_words();
  words.push_back("--jobs=" + ids);
  std::set<std::pair<uint32_t, std::string>> seen;
  const Status read = programs_.lines(std::move(words), [&](std::string_view line) -> Status {
    const auto use = step_use_of(line);
    if (!use || !seen.emplace(use->job_id, use->step).second) return {};
    const auto job = by_id.find(use->job_id);
    if (job != by_id.end()) add_to(*job->second->mutable_now(), *use);
    return {};
  });
  return read ? take(reply) : read;
}

Status SlurmEngine::add_ended(const model::JobRecord& job, bool with_series, api::MeasurementsReply& reply) {
  auto before = measured_before(job);
  if (!before) return failure(before.error());
  for (api::JobMeasurement& part : *before->mutable_jobs()) {
    const std::string node = part.job().node_list();
    *part.mutable_job() = job;
    part.mutable_job()->set_name(job.spec().name());
    part.mutable_job()->clear_spec();
    part.mutable_job()->set_node_list(node);
    if (!with_series) part.clear_series();
    *reply.add_jobs() = std::move(part);
  }
  reply.mutable_notes()->MergeFrom(before->notes());
  return {};
}

Result<api::MeasurementsReply> SlurmEngine::measured(const api::QueryMeasurementsRequest& request) {
  const JobMatcher matcher(request.filter(), Viewer{.uid = ::getuid(), .sees_all = true});
  api::MeasurementsReply reply;
  reply.set_now(std::time(nullptr));
  std::vector<model::JobRecord> ended;
  for (const api::JobSelector& one : request.filter().jobs()) {
    auto job = as_it_was(one.job_id());
    if (job && job->state() >= model::JOB_COMPLETE) ended.push_back(std::move(*job));
  }
  // Who asks for jobs that have ended does not want to know what runs.
  const bool runs = ended.empty() || ended.size() < static_cast<size_t>(request.filter().jobs_size());
  const Status asked = !runs ? Status()
                             : kept_parts<api::MeasurementsReply>(
                                   request.with_series() ? "usage-series" : "usage",
                                   [&](const Take<api::MeasurementsReply>& give) {
                                     return ask_usage(request.with_series(), give);
                                   },
                                   [&](api::MeasurementsReply& part) -> Status {
                                     reply.set_now(part.now());
                                     reply.mutable_notes()->Swap(part.mutable_notes());
                                     for (api::JobMeasurement& one : *part.mutable_jobs()) {
                                       if (matcher.selected(one.job()) && matcher.passes(one.job()))
                                         *reply.add_jobs() = std::move(one);
                                     }
                                     return {};
                                   });
  if (!asked) return failure(asked.error());
  for (const model::JobRecord& job : ended) {
    if (const Status added = add_ended(job, request.with_series(), reply); !added)
      return failure(added.error());
  }
  // Of all that the jobs hold: this user's part of the machine.
  api::MachineMeasurement& machine = *reply.mutable_machine();
  for (api::JobMeasurement& one : *reply.mutable_jobs()) {
    model::JobRecord& job = *one.mutable_job();
    if (!is_running(job)) continue;
    const int64_t ran = reply.now() - job.start_time() - job.suspended_seconds();
    // A sample of an agent's has its time.
    if (one.has_now() && one.now().time() == 0) {
      one.mutable_now()->set_time(reply.now());
      one.set_peak_memory_kib(one.now().memory_kib());
      if (ran > 0)
        one.set_cores(static_cast<double>(one.now().cpu_milliseconds()) / 1000 / static_cast<double>(ran));
    }
    machine.set_cores(machine.cores() + one.cores());
    machine.set_cpus(machine.cpus() + job.num_cpus());
    machine.set_memory_kib(machine.memory_kib() + one.now().memory_kib());
    machine.set_total_memory_kib(machine.total_memory_kib() + job.memory_mib() * 1024);
  }
  return reply;
}

Result<api::StepUsageReply> SlurmEngine::step_usage(const api::QueryStepUsageRequest& /*request*/) {
  return lacks("tell of single tasks from here: use its own sstat");
}

Result<api::PidsReply> SlurmEngine::pids(const api::QueryPidsRequest& /*request*/) {
  return lacks("list processes from here: use its own scontrol listpids on the node");
}

Status SlurmEngine::keep_metrics(const api::KeepMetricsRequest& /*request*/) {
  return lacks("keep metrics of jobs");
}

}  // namespace minke::engine::slurm
