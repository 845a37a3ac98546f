#include "view/waste.h"

#include <algorithm>

#include "api/accounting.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "text/job_id.h"
#include "view/text.h"

namespace minke::view {
namespace {

constexpr double kHour = 3600;
constexpr size_t kWorst = 20;

double share(double used, double held) {
  return held > 0 ? used / held : 1;
}

// A record of a job that runs may not say yet what it uses.
bool is_told(const model::JobRecord& job) {
  return is_finished(job.state()) || job.usage().user_microseconds() + job.usage().system_microseconds() > 0;
}

Waste waste_of(const api::AccountedJob& accounted, const Efficiency& used, const clusters::Costs& costs) {
  constexpr double kKibOfGib = 1 << 20;
  Waste waste;
  const double hours = static_cast<double>(used.wall_seconds) / kHour;
  waste.jobs = 1;
  waste.cores = static_cast<double>(used.core_seconds) / kHour;
  waste.cores_used = std::min(waste.cores, static_cast<double>(used.cpu_seconds) / kHour);
  if (used.held_kib > 0) {
    waste.memory = used.held_kib / kKibOfGib * hours;
    waste.memory_used = std::min(waste.memory, used.memory_kib / kKibOfGib * hours);
  }
  waste.gpus = static_cast<double>(held_gpus(accounted.job())) * hours;
  if (used.gpus > 0) {
    waste.gpus_measured = std::min(waste.gpus, used.gpus * hours);
    waste.gpus_used = waste.gpus_measured * std::min(1.0, used.gpu_percent / 100);
  }
  waste.cost = waste.gpus > 0 ? (waste.gpus_measured - waste.gpus_used) * costs.gpu_hour
                              : (waste.cores - waste.cores_used) * costs.core_hour;
  return waste;
}

}  // namespace

uint64_t held_gpus(const model::JobRecord& job) {
  uint64_t plain = 0, typed = 0;
  for (const model::Gres& gres : job.tres_gres())
    if (gres.name() == "gpu") (gres.type().empty() ? plain : typed) += gres.count();
  return std::max(plain, typed);
}

Waste& Waste::operator+=(const Waste& other) {
  jobs += other.jobs;
  cores += other.cores;
  cores_used += other.cores_used;
  memory += other.memory;
  memory_used += other.memory_used;
  gpus += other.gpus;
  gpus_measured += other.gpus_measured;
  gpus_used += other.gpus_used;
  cost += other.cost;
  return *this;
}

// Cores beside GPUs are few: they are not judged unless there are many.
std::string_view cores_verdict(const Waste& waste) {
  constexpr double kBad = 0.75, kLess = 0.9, kManyBesideOneGpu = 12;
  if (waste.gpus > 0 && waste.cores <= kManyBesideOneGpu * waste.gpus) return {};
  const double used = share(waste.cores_used, waste.cores);
  return used < kBad ? "critical" : used < kLess ? "warning" : "";
}

// Nobody else could have used what is normal beside a core or a GPU.
std::string_view memory_verdict(const Waste& waste) {
  constexpr double kBad = 0.1, kLess = 0.5, kNormalOfCore = 4, kNormalOfGpu = 128;
  const double normal = waste.gpus > 0 ? kNormalOfGpu * waste.gpus : kNormalOfCore * waste.cores;
  if (waste.memory <= normal) return {};
  const double used = share(waste.memory_used, waste.memory);
  return used < kBad ? "critical" : used < kLess ? "warning" : "";
}

std::string_view gpus_verdict(const Waste& waste) {
  constexpr double kBad = 0.1, kLess = 0.2;
  const double used = share(waste.gpus_used, waste.gpus_measured);
  return used < kBad ? "critical" : used < kLess ? "warning" : "";
}

void WasteTally::add(const api::AccountedJob& accounted) {
  const model::JobRecord& job = accounted.job();
  if (job.state() == model::JOB_PENDING || !is_told(job)) return;
  if (is_finished(job.state()) && job.end_time() < since_) return;
  const Efficiency used = efficiency_of(accounted, now_);
  if (used.wall_seconds <= 0) return;
  const Waste waste = waste_of(accounted, used, costs_);
  const std::string& account = job.account().empty() ? job.spec().account() : job.account();
  rows_[{account, job.user_name()}] += waste;
  all_ += waste;
  const bool is_full = worst_.size() == kWorst;
  if (waste.cost <= 0 || (is_full && worst_.back().waste.cost >= waste.cost)) return;
  if (is_full) worst_.pop_back();
  const auto place =
      std::upper_bound(worst_.begin(), worst_.end(), waste.cost,
                       [](double cost, const WastedJob& one) { return cost > one.waste.cost; });
  worst_.insert(place, WastedJob{job.job_id(), text::format_job_id(job), std::string(job_name(job)),
                                 job.user_name(), used, waste});
}

std::vector<WasteTally::Row> WasteTally::rows() const {
  std::vector<Row> all;
  for (const auto& [key, waste] : rows_) all.push_back({key.first, key.second, waste});
  std::stable_sort(all.begin(), all.end(),
                   [](const Row& a, const Row& b) { return a.waste.cost > b.waste.cost; });
  return all;
}

}  // namespace minke::view
