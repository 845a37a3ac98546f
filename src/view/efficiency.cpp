#include "view/efficiency.h"

#include <algorithm>

#include "api/accounting.pb.h"
#include "model/job_record.pb.h"
#include "model/step_record.pb.h"
#include "model/usage.pb.h"
#include "view/text.h"

namespace minke::view {

double Efficiency::cpu_percent() const {
  return core_seconds == 0 ? 0.0
                           : 100.0 * static_cast<double>(cpu_seconds) / static_cast<double>(core_seconds);
}

double Efficiency::memory_percent() const {
  return held_kib == 0 ? 0.0 : 100.0 * memory_kib / held_kib;
}

Efficiency efficiency_of(const api::AccountedJob& accounted, int64_t now) {
  const model::JobRecord& job = accounted.job();
  const model::Usage& usage = job.usage();
  Efficiency used;
  const uint64_t microseconds = usage.user_microseconds() + usage.system_microseconds();
  used.cores = std::max(1u, job.num_cpus());
  used.cpu_seconds = static_cast<int64_t>((microseconds + 500000) / 1000000);
  used.wall_seconds = elapsed_seconds(job, now);
  used.core_seconds = used.wall_seconds * used.cores;
  used.memory_kib = static_cast<double>(usage.max_rss_kib());
  for (const model::StepRecord& step : accounted.steps())
    used.memory_kib = std::max(
        used.memory_kib, static_cast<double>(step.usage().max_rss_kib()) * std::max(1u, step.num_tasks()));
  used.held_kib = static_cast<double>(job.memory_mib()) * 1024;
  if (const model::Usage::Gpus& gpus = usage.gpus(); gpus.count() != 0) {
    used.gpus = gpus.count();
    used.gpu_percent = gpus.utilization() / gpus.count();
    used.gpu_memory_kib = static_cast<double>(gpus.most_memory_bytes()) / 1024;
  }
  used.joules = usage.energy_joules();
  return used;
}

}  // namespace minke::view
