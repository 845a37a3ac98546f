#include "cli/cluster_trace.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "api/accounting.pb.h"
#include "cli/no_time.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/cluster.pb.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "sched/ids.h"
#include "text/duration.h"
#include "text/timestamp.h"

namespace minke::cli {
namespace {

constexpr uint64_t kMostProcessors = 0x7fffffff;

// False: it never ran, or runs still.
bool add_job(const model::JobRecord& record, sim::Trace& trace) {
  if (record.start_time() == 0 || record.end_time() <= record.start_time() || record.num_cpus() == 0)
    return false;
  if (record.state() <= model::JOB_SUSPENDED) return false;
  sim::TraceJob job;
  job.id = record.job_id();
  job.submit = record.eligible_time() != 0 ? record.eligible_time() : record.submit_time();
  job.runs = record.end_time() - record.start_time() - record.suspended_seconds();
  if (job.submit == 0 || job.runs <= 0) return false;
  const uint32_t minutes = record.time_limit_minutes();
  job.asks = minutes == 0 || minutes == text::kUnlimited ? sched::kUnlimitedSeconds : int64_t{60} * minutes;
  job.runs = std::min(job.runs, job.asks);
  job.processors = record.num_cpus();
  job.nodes = std::min(record.num_nodes(), job.processors);
  job.memory_mib = record.memory_mib();
  for (const model::Gres& gres : record.tres_gres()) {
    if (gres.name() != "gpu") continue;
    job.gpus += gres.count();
    if (!gres.type().empty()) job.gpu_type = trace.names.number_of(gres.type());
  }
  job.user = trace.names.number_of(record.user_name());
  job.group = trace.names.number_of(record.group_name());
  job.account = trace.names.number_of(record.account());
  job.partition = trace.names.number_of(record.partition().substr(0, record.partition().find(',')));
  job.qos = trace.names.number_of(record.qos());
  trace.jobs.push_back(job);
  return true;
}

Status add_processors(engine::Engine& cluster, sim::Trace& trace) {
  uint64_t processors = 0;
  const Status told = cluster.nodes([&](api::NodesReply& part) -> Status {
    for (const model::NodeRecord& node : part.nodes()) processors += node.cpus();
    return {};
  });
  trace.processors = static_cast<uint32_t>(std::min(processors, kMostProcessors));
  return told;
}

// The most that the record has had at work at the same time.
uint32_t most_at_once(const sim::Trace& trace, const std::vector<int64_t>& starts) {
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (size_t i = 0; i < trace.jobs.size(); ++i) {
    const auto count = static_cast<int64_t>(trace.jobs[i].processors);
    changes.emplace_back(starts[i], count);
    changes.emplace_back(starts[i] + trace.jobs[i].runs, -count);
  }
  std::sort(changes.begin(), changes.end());
  int64_t now = 0, most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, now += change);
  return static_cast<uint32_t>(std::min<int64_t>(most, kMostProcessors));
}

}  // namespace

Result<sim::Trace> cluster_trace(const std::string& since) {
  const auto from = text::parse_time(since, std::time(nullptr), true);
  if (!from) return failure("--since: " + no_time(since).message);
  auto cluster = engine::open();
  if (!cluster) return failure(cluster.error());
  sim::Trace trace;
  const Status counted = add_processors(**cluster, trace);
  const bool hidden = !counted && counted.error().code == model::kAccessDenied;
  if (!counted && !hidden) return failure(counted.error());
  std::vector<int64_t> starts;
  api::QueryAccountingRequest query;
  query.mutable_filter()->set_all_states(true);
  query.set_from(*from);
  const auto read = engine::for_each_accounted(**cluster, query, [&](const api::AccountedJob& one) {
    // sacct tells of all that were there then.
    if (one.job().submit_time() < *from) return;
    if (add_job(one.job(), trace)) {
      starts.push_back(one.job().start_time());
    } else {
      ++trace.left_out;
    }
  });
  if (!read) return failure(read.error());
  if (trace.jobs.empty())
    return failure("the record has no job since " + text::format_time(*from) +
                   " that has run and that you may see: --since tells an earlier day");
  if (hidden) {
    trace.processors = most_at_once(trace, starts);
    std::fprintf(
        stderr,
        "minke: the cluster does not show you its nodes (PrivateData): %u processors, as many as these "
        "jobs have had at once; --processors says how many there are\n",
        trace.processors);
  }
  std::stable_sort(trace.jobs.begin(), trace.jobs.end(),
                   [](const sim::TraceJob& a, const sim::TraceJob& b) { return a.submit < b.submit; });
  std::fprintf(stderr, "minke: the jobs that the cluster's record shows to you, since %s\n",
               text::format_time(*from).c_str());
  return trace;
}

}  // namespace minke::cli
