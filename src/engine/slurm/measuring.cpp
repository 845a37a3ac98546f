// SlurmEngine: what the user's running jobs use, by sstat, which asks their nodes. All jobs are asked for at
// once, once in the period of an answer. Slurm tells totals of each step: the cores are a job's mean since
// its start. Of GPUs it tells nothing here.
#include <unistd.h>

#include <algorithm>
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

Status SlurmEngine::ask_usage(const Take<api::MeasurementsReply>& take) {
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
  std::map<uint32_t, api::JobMeasurement*> by_id;
  std::string ids;
  for (api::JobMeasurement& one : *reply.mutable_jobs()) {
    by_id.emplace(one.job().job_id(), &one);
    ids += (ids.empty() ? "" : ",") + std::to_string(one.job().job_id());
  }
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

Result<api::MeasurementsReply> SlurmEngine::measured(const api::QueryMeasurementsRequest& request) {
  const JobMatcher matcher(request.filter(), Viewer{.uid = ::getuid(), .sees_all = true});
  api::MeasurementsReply reply;
  const Status asked = kept_parts<api::MeasurementsReply>(
      "usage", [this](const Take<api::MeasurementsReply>& give) { return ask_usage(give); },
      [&](api::MeasurementsReply& part) -> Status {
        reply.set_now(part.now());
        for (api::JobMeasurement& one : *part.mutable_jobs()) {
          if (matcher.selected(one.job()) && matcher.passes(one.job())) *reply.add_jobs() = std::move(one);
        }
        return {};
      });
  if (!asked) return failure(asked.error());
  // Of all that the jobs hold: this user's part of the machine.
  api::MachineMeasurement& machine = *reply.mutable_machine();
  for (api::JobMeasurement& one : *reply.mutable_jobs()) {
    model::JobRecord& job = *one.mutable_job();
    const int64_t ran = reply.now() - job.start_time() - job.suspended_seconds();
    if (one.has_now()) {
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
