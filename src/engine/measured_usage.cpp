#include "engine/measured_usage.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "api/accounting.pb.h"
#include "api/measurements.pb.h"
#include "engine/embedded/watching/series.h"
#include "engine/engine.h"
#include "engine/fetch.h"

namespace minke::engine {

void add_what_is_measured(Engine& cluster, api::AccountedJob& accounted) {
  model::JobRecord& job = *accounted.mutable_job();
  model::Usage& usage = *job.mutable_usage();
  if (job.state() != model::JOB_RUNNING || usage.user_microseconds() + usage.system_microseconds() != 0)
    return;
  const auto ability = cluster.measurements();
  if (!ability) return;
  api::QueryMeasurementsRequest query;
  *query.mutable_filter()->add_jobs() = selector_of({.job_id = job.job_id()});
  query.set_with_series(true);
  const auto measured = (*ability)->measured(query);
  if (!measured) return;
  for (const api::JobMeasurement& one : measured->jobs()) {
    if (one.job().job_id() != job.job_id() || !one.has_now()) continue;
    usage.set_user_microseconds(one.now().cpu_milliseconds() * 1000);
    usage.set_max_rss_kib(std::max(one.peak_memory_kib(), one.now().memory_kib()));
    const std::vector<std::string> gpus(one.gpu_uuids().begin(), one.gpu_uuids().end());
    Series::of(one.series()).summarize(job.start_time(), measured->now(), gpus, usage);
  }
}

std::string add_what_was_measured(Engine& cluster, api::AccountedJob& accounted) {
  model::JobRecord& job = *accounted.mutable_job();
  const auto ability = cluster.measurements();
  model::Usage& usage = *job.mutable_usage();
  // Minke's own record has it.
  if (job.state() < model::JOB_COMPLETE || usage.peak_memory_kib() != 0 || !ability) return {};
  api::QueryMeasurementsRequest query;
  *query.mutable_filter()->add_jobs() = selector_of({.job_id = job.job_id()});
  query.set_with_series(true);
  const auto measured = (*ability)->measured(query);
  if (!measured) return {};
  uint64_t peak = 0, cpu_microseconds = 0;
  for (const api::JobMeasurement& one : measured->jobs()) {
    if (one.job().job_id() != job.job_id()) continue;
    peak += one.peak_memory_kib();
    cpu_microseconds += one.now().cpu_milliseconds() * 1000;
    model::Usage part;
    const std::vector<std::string> gpus(one.gpu_uuids().begin(), one.gpu_uuids().end());
    Series::of(one.series()).summarize(job.start_time(), job.end_time(), gpus, part);
    model::Usage::Gpus& sum = *usage.mutable_gpus();
    sum.set_count(sum.count() + part.gpus().count());
    sum.set_utilization(sum.utilization() + part.gpus().utilization());
    sum.set_most_memory_bytes(sum.most_memory_bytes() + part.gpus().most_memory_bytes());
  }
  usage.set_max_rss_kib(std::max(usage.max_rss_kib(), peak));
  if (usage.user_microseconds() + usage.system_microseconds() == 0)
    usage.set_user_microseconds(cpu_microseconds);
  return peak == 0 || measured->notes().empty() ? "" : "WARNING: " + measured->notes(0) + ".\n";
}

}  // namespace minke::engine
