#include "view/use_now.h"

#include <algorithm>

#include "api/measurements.pb.h"
#include "model/job_record.pb.h"
#include "model/measurement.pb.h"

namespace minke::view {

UseNow& UseNow::operator+=(const UseNow& other) {
  jobs += other.jobs;
  measured_jobs += other.measured_jobs;
  cores += other.cores;
  cores_measured += other.cores_measured;
  cores_used += other.cores_used;
  memory_gib += other.memory_gib;
  memory_gib_measured += other.memory_gib_measured;
  memory_gib_used += other.memory_gib_used;
  memory_gib_peak += other.memory_gib_peak;
  gpus += other.gpus;
  gpus_measured += other.gpus_measured;
  gpus_used += other.gpus_used;
  watts += other.watts;
  return *this;
}

Waste UseNow::waste() const {
  Waste waste;
  waste.jobs = measured_jobs;
  waste.cores = cores_measured;
  waste.cores_used = cores_used;
  waste.memory = memory_gib_measured;
  waste.memory_used = memory_gib_peak;
  waste.gpus = gpus;
  waste.gpus_measured = gpus_measured;
  waste.gpus_used = gpus_used;
  return waste;
}

void UseTally::add(const api::JobMeasurement& measured) {
  constexpr double kKibOfGib = 1 << 20;
  const model::JobRecord& job = measured.job();
  UseNow use;
  use.jobs = 1;
  use.cores = job.num_cpus();
  use.memory_gib = static_cast<double>(job.memory_mib()) / 1024;
  use.gpus = static_cast<double>(held_gpus(job));
  if (measured.has_now()) {
    const model::Sample& now = measured.now();
    use.measured_jobs = 1;
    use.cores_measured = use.cores;
    use.cores_used = measured.cores();
    use.memory_gib_measured = use.memory_gib;
    use.memory_gib_used = static_cast<double>(now.memory_kib()) / kKibOfGib;
    use.memory_gib_peak =
        static_cast<double>(std::max(measured.peak_memory_kib(), now.memory_kib())) / kKibOfGib;
    use.gpus_measured = std::min(use.gpus, static_cast<double>(now.gpus_size()));
    for (const model::Sample::Gpu& gpu : now.gpus()) {
      use.gpus_used += gpu.utilization() / 100.0;
      use.watts += gpu.milliwatts() / 1000.0;
    }
  }
  rows_[job.user_name()] += use;
}

std::vector<UseTally::Row> UseTally::rows() const {
  std::vector<Row> all;
  for (const auto& [user, use] : rows_) all.push_back({user, use});
  std::stable_sort(all.begin(), all.end(),
                   [](const Row& a, const Row& b) { return a.use.cores > b.use.cores; });
  return all;
}

UseNow UseTally::all() const {
  UseNow sum;
  for (const auto& [user, use] : rows_) sum += use;
  return sum;
}

}  // namespace minke::view
