#include "view/wait_times.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "view/text.h"
#include "view/waste.h"

namespace minke::view {
namespace {

// The classes of limits that Narval's partitions have: 3 and 12 hours, 1, 3 and 7 days.
constexpr std::array<uint32_t, 5> kClasses = {180, 720, 1440, 4320, 10080};
constexpr uint32_t kLongest = UINT32_MAX;  // sorts behind them

uint32_t class_of(uint32_t limit_minutes) {
  for (const uint32_t most : kClasses)
    if (limit_minutes <= most) return most;
  return kLongest;
}

template <typename Number>
double median_of(std::vector<Number> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  const auto upper = static_cast<double>(*middle);
  if (values.size() % 2 == 1) return upper;
  return (upper + static_cast<double>(*std::max_element(values.begin(), middle))) / 2;
}

}  // namespace

void WaitTally::add(const model::JobRecord& job) {
  if (job.state() == model::JOB_PENDING || job.start_time() == 0 || job.start_time() < since_) return;
  Kind& kind = kinds_[{job.partition(), held_gpus(job) > 0, class_of(job.time_limit_minutes())}];
  const int64_t from = job.eligible_time() != 0 ? job.eligible_time() : job.submit_time();
  kind.waits.push_back(static_cast<uint32_t>(std::clamp<int64_t>(job.start_time() - from, 0, UINT32_MAX)));
  if (job.state() == model::JOB_TIMEOUT) ++kind.timed_out;
  if (job.state() != model::JOB_COMPLETE) return;
  ++kind.completed;
  if (job.time_limit_minutes() == 0 || job.time_limit_minutes() == kUnlimited) return;
  const double run = static_cast<double>(elapsed_seconds(job, job.end_time()));
  kind.run_shares.push_back(static_cast<float>(run / (60.0 * job.time_limit_minutes())));
}

std::vector<WaitTally::Row> WaitTally::rows() const {
  std::vector<Row> all;
  for (const auto& [key, kind] : kinds_) {
    Row row;
    row.partition = std::get<0>(key);
    row.has_gpus = std::get<1>(key);
    row.limit_minutes = std::get<2>(key) == kLongest ? 0 : std::get<2>(key);
    row.jobs = kind.waits.size();
    row.median = median_of(kind.waits);
    row.mean =
        std::accumulate(kind.waits.begin(), kind.waits.end(), 0.0) / static_cast<double>(kind.waits.size());
    row.most = *std::max_element(kind.waits.begin(), kind.waits.end());
    row.completed = kind.completed;
    row.timed_out = kind.timed_out;
    row.run_share = median_of(kind.run_shares);
    all.push_back(std::move(row));
  }
  return all;
}

}  // namespace minke::view
