#include "engine/slurm/measured_jobs.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "engine/embedded/watching/host_rise.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

constexpr int kMostAnswer = 600 << 10;  // munge takes no more than 1 MiB
constexpr size_t kMostKept = 2000;      // jobs, those that have ended among them
constexpr int64_t kKept = 3600;         // s after the end

model::Sample sample_of(const NodeJob& job, int64_t now) {
  model::Sample sample;
  sample.set_time(now);
  sample.set_cpu_milliseconds(job.use.cpu_milliseconds);
  sample.set_memory_kib(job.use.memory_kib);
  sample.set_read_kib(job.use.read_bytes / 1024);
  sample.set_write_kib(job.use.write_bytes / 1024);
  sample.set_processes(job.use.processes);
  sample.set_threads(job.use.threads);
  sample.set_running_threads(job.use.running_threads);
  sample.set_cache_kib(job.use.cache_kib);
  sample.set_shared_kib(job.use.shared_kib);
  return sample;
}

}  // namespace

std::optional<AskedJobs> asked_jobs(const std::string& word) {
  const std::string_view text = word;
  AskedJobs asked;
  if (text.starts_with("job=")) {
    const auto id = text::parse_unsigned(text.substr(4), 0xffffffff);
    if (!id) return std::nullopt;
    asked.job_id = static_cast<uint32_t>(*id);
    return asked;
  }
  const size_t comma = text.find(',');
  if (!text.starts_with("ended=") || comma == std::string_view::npos) return std::nullopt;
  const auto time = text::parse_unsigned(text.substr(6, comma - 6), uint64_t{1} << 40);
  const auto id = text::parse_unsigned(text.substr(comma + 1), 0xffffffff);
  if (!time || !id) return std::nullopt;
  asked.ended_after = {static_cast<int64_t>(*time), static_cast<uint32_t>(*id)};
  return asked;
}

std::string words_of(const AskedJobs& asked) {
  if (asked.job_id) return "job=" + std::to_string(*asked.job_id);
  if (!asked.ended_after) return {};
  return "ended=" + std::to_string(asked.ended_after->time) + "," + std::to_string(asked.ended_after->job_id);
}

void MeasuredJobs::round(const std::vector<NodeJob>& jobs, const node::GpuReport& gpus,
                         const node::MachineUse& machine) {
  const int64_t now = std::time(nullptr);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  const std::lock_guard<std::mutex> guard(lock_);
  last_round_ = now;
  const HostRise rise = rise_between(std::exchange(machine_, machine), machine);
  for (const NodeJob& one : jobs) {
    const auto [place, is_new] = jobs_.try_emplace(one.job_id);
    Job& job = place->second;
    if (one.uid) job.uid = one.uid;
    if (is_new || job.gpus.empty()) {
      for (const uint32_t number : one.gpus) {
        if (number < static_cast<uint32_t>(gpus.readings_size()))
          job.gpus.push_back(gpus.readings(static_cast<int>(number)).uuid());
      }
      if (is_new || !job.gpus.empty()) job.series = Series(job.gpus);
    }
    model::Sample sample = sample_of(one, now);
    for (const std::string& uuid : job.gpus) {
      const auto reading = std::find_if(gpus.readings().begin(), gpus.readings().end(),
                                        [&](const node::GpuReading& gpu) { return gpu.uuid() == uuid; });
      model::Sample::Gpu& gpu = *sample.add_gpus();
      if (reading != gpus.readings().end()) gpu = reading->now();
    }
    job.seen = now;
    add_host(rise, one.use, one.cpus, job.series, sample);
    job.series.add(std::move(sample), seconds);
  }
  drop_old(now);
}

// A job's GPUs are known from its second round on: their parts are then measured from there.
node::GpuQuestion MeasuredJobs::question_for(const std::vector<NodeJob>& jobs) const {
  node::GpuQuestion question;
  const std::lock_guard<std::mutex> guard(lock_);
  for (const NodeJob& one : jobs) {
    const auto known = jobs_.find(one.job_id);
    if (known == jobs_.end()) continue;
    for (const std::string& uuid : known->second.gpus) question.add_used(uuid);
  }
  return question;
}

void MeasuredJobs::drop_old(int64_t now) {
  std::erase_if(jobs_, [&](const auto& one) { return one.second.seen + kKept < now; });
  while (jobs_.size() > kMostKept) {
    const auto oldest = std::min_element(jobs_.begin(), jobs_.end(), [](const auto& a, const auto& b) {
      return a.second.seen < b.second.seen;
    });
    jobs_.erase(oldest);
  }
}

void MeasuredJobs::describe(uint32_t id, const Job& job, bool running, bool with_series,
                            api::JobMeasurement& out) {
  out.mutable_job()->set_job_id(id);
  out.mutable_job()->set_uid(job.uid.value_or(0));
  out.mutable_job()->set_state(running ? model::JOB_RUNNING : model::JOB_COMPLETE);
  *out.mutable_now() = job.series.last();
  if (running) {
    out.set_cores(job.series.cores());
    out.set_read_rate(job.series.read_rate());
    out.set_write_rate(job.series.write_rate());
  }
  out.set_peak_memory_kib(job.series.peak_memory_kib());
  for (const std::string& uuid : job.gpus) out.add_gpu_uuids(uuid);
  if (with_series) *out.mutable_series() = job.series.stored();
}

std::vector<uint32_t> MeasuredJobs::in_order(const AskedJobs& asked) const {
  std::vector<uint32_t> ids;
  if (asked.job_id) {
    if (jobs_.contains(*asked.job_id)) ids.push_back(*asked.job_id);
    return ids;
  }
  if (asked.ended_after) {
    std::vector<EndedAfter> ended;
    for (const auto& [id, job] : jobs_)
      if (job.seen != last_round_ && EndedAfter{job.seen, id} > *asked.ended_after)
        ended.push_back({job.seen, id});
    std::sort(ended.begin(), ended.end());
    for (const EndedAfter& one : ended) ids.push_back(one.job_id);
    return ids;
  }
  for (const bool running : {true, false})
    for (const auto& [id, job] : jobs_)
      if ((job.seen == last_round_) == running) ids.push_back(id);
  return ids;
}

// As many as go into one answer.
api::MeasurementsReply MeasuredJobs::answer(uint32_t uid, bool all, bool with_series,
                                            const AskedJobs& asked) const {
  api::MeasurementsReply reply;
  const std::lock_guard<std::mutex> guard(lock_);
  reply.set_now(last_round_);
  int bytes = 0;
  for (const uint32_t id : in_order(asked)) {
    const Job& job = jobs_.at(id);
    if (!all && job.uid != uid) continue;
    api::JobMeasurement one;
    describe(id, job, job.seen == last_round_, with_series, one);
    bytes += static_cast<int>(one.ByteSizeLong()) + 8;
    if (bytes > kMostAnswer) break;
    *reply.add_jobs() = std::move(one);
  }
  return reply;
}

}  // namespace minke::engine::slurm
