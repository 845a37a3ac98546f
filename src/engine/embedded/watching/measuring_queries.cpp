// Queries of measurements: for minke top, seff, and the metrics for Prometheus.
#include <algorithm>
#include <map>
#include <tuple>

#include "api/job_filter.pb.h"
#include "api/measurements.pb.h"
#include "engine/embedded/answers/queries.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/watching/measuring.h"
#include "rpc/envelope.h"
#include "store/job_row.h"
#include "store/store.h"
#include "text/gres_count.h"

namespace minke::engine {

using namespace model;

void Measuring::query(const api::QueryMeasurementsRequest& request, Viewer viewer, const Part& part) {
  const double age =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count() -
      last_seconds_;
  if (!request.fresh() || core_.config.measuring_interval == 0 || (last_seconds_ != 0 && age < kFresh))
    return answer(request, viewer, part);
  when_received_.push_back([this, request, viewer, part] { answer(request, viewer, part); });
  ask();
}

void Measuring::answer(const api::QueryMeasurementsRequest& request, Viewer viewer, const Part& part) {
  rpc::AnswerEnvelope message;
  api::MeasurementsReply& reply = message.body<api::MeasurementsReply>();
  reply.set_now(core_.now());
  add_running(request, viewer, reply);
  if (!request.filter().jobs().empty()) add_ended(request, viewer, reply);
  if (request.with_counts()) add_counts(request.filter(), viewer, reply);
  api::MachineMeasurement& machine = *reply.mutable_machine();
  machine.set_cores(machine_cores_);
  machine.set_memory_kib(machine_.memory_kib);
  machine.set_total_memory_kib(machine_.total_memory_kib);
  machine.set_watts(machine_watts_);
  for (const NodeRecord& node : core_.nodes->nodes()) {
    machine.set_cpus(machine.cpus() + node.cpus());
    for (const GpuDevice& device : node.gpu_devices()) {
      const auto now = gpus_.find(device.uuid());
      *machine.add_gpus() = now == gpus_.end() ? Sample::Gpu() : now->second;
      *machine.add_gpu_devices() = device;
    }
  }
  part(message.message(), true);
}

void Measuring::add_running(const api::QueryMeasurementsRequest& request, Viewer viewer,
                            api::MeasurementsReply& reply) {
  const JobMatcher matcher(request.filter(), viewer);
  for (const auto& [id, track] : tracks_) {
    const Job* job = core_.state.find(id);
    if (job == nullptr || !matcher.selected(*job) || !matcher.is_of(job->uid)) continue;
    api::JobMeasurement& measured = *reply.add_jobs();
    JobRecord& record = *measured.mutable_job();
    record = core_.state.record_of(*job);
    const BriefSpec brief = job->submission->brief_spec();
    record.set_name(std::string(brief.name));
    record.set_account(std::string(brief.account));
    if (!track.series.samples().empty()) *measured.mutable_now() = track.series.last();
    measured.set_cores(track.series.cores());
    measured.set_read_rate(track.series.read_rate());
    measured.set_write_rate(track.series.write_rate());
    measured.set_peak_memory_kib(track.series.peak_memory_kib());
    for (const std::string& uuid : track.series.gpus()) measured.add_gpu_uuids(uuid);
    if (request.with_series()) *measured.mutable_series() = track.series.stored();
  }
}

void Measuring::add_ended(const api::QueryMeasurementsRequest& request, Viewer viewer,
                          api::MeasurementsReply& reply) {
  const JobMatcher matcher(request.filter(), viewer);
  for (const uint32_t id : stored_ids(request.filter(), core_.store)) {
    if (tracks_.contains(id)) continue;
    auto row = core_.store.job(id);
    if (!row || !*row || !matcher.is_of((*row)->record.uid())) continue;
    const auto stored = core_.store.series(id, (*row)->record.restarts());
    api::JobMeasurement measured;
    if (!stored || !*stored || !measured.mutable_series()->ParseFromString(**stored)) continue;
    const Series series = Series::of(measured.series());
    *measured.mutable_job() = std::move((*row)->record);
    *measured.mutable_now() = series.last();
    measured.set_peak_memory_kib(series.peak_memory_kib());
    for (const std::string& uuid : series.gpus()) measured.add_gpu_uuids(uuid);
    if (!request.with_series()) measured.clear_series();
    *reply.add_jobs() = std::move(measured);
  }
}

void Measuring::add_counts(const api::JobFilter& filter, Viewer viewer, api::MeasurementsReply& reply) {
  const JobMatcher matcher(filter, viewer);
  std::map<std::tuple<std::string, uint32_t, std::string, int, bool, bool>, api::JobCount> counts;
  for (const auto& [id, job] : core_.state.jobs()) {
    if (!matcher.is_of(job->uid)) continue;
    const BriefSpec brief = job->submission->brief_spec();
    const std::string partition = job->details && !job->details->partition.empty()
                                      ? job->details->partition
                                      : job->submission->partitions.front();
    const bool held = job->state == JOB_PENDING && job->priority == 0;
    api::JobCount& count =
        counts[{partition, job->uid, std::string(brief.account), job->state, job->completing, held}];
    count.set_jobs(count.jobs() + (job->array && job->state == JOB_PENDING ? job->array->waiting.size() : 1));
    if (!job->holds_nodes()) continue;
    for (const NodeAllocation& node : job->details->nodes) {
      count.set_cpus(count.cpus() + node.cpus());
      count.set_memory_mib(count.memory_mib() + node.memory_mib());
      count.set_nodes(count.nodes() + 1);
      for (const GresAllocation& gres : node.gres()) {
        if (gres.name() == "gpu") count.set_gpus(count.gpus() + text::units_of(gres));
      }
    }
  }
  for (auto& [key, count] : counts) {
    count.set_partition(std::get<0>(key));
    count.set_user(core_.state.user_name(std::get<1>(key)));
    count.set_account(std::get<2>(key));
    count.set_state(static_cast<JobState>(std::get<3>(key)));
    count.set_completing(std::get<4>(key));
    count.set_held(std::get<5>(key));
    *reply.add_counts() = std::move(count);
  }
}

}  // namespace minke::engine
