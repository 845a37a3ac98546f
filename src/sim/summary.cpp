#include "sim/summary.h"

#include <algorithm>

#include "sim/replay.h"

namespace minke::sim {
namespace {

constexpr std::int64_t kSlowdownThreshold = 10;  // s

class Sum {
 public:
  void add(const TraceJob& job, std::int64_t start) {
    const std::int64_t wait = start - job.submit;
    waits_.push_back(wait);
    wait_ += static_cast<double>(wait);
    const auto whole = static_cast<double>(wait + job.runs);
    slowdown_ += std::max(1.0, whole / static_cast<double>(std::max(job.runs, kSlowdownThreshold)));
    processor_seconds_ += static_cast<double>(job.processors) * static_cast<double>(job.runs);
  }
  Figures figures() {
    Figures result;
    result.jobs = waits_.size();
    result.processor_seconds = processor_seconds_;
    if (waits_.empty()) return result;
    const auto count = static_cast<double>(waits_.size());
    result.mean_wait = wait_ / count;
    result.mean_bounded_slowdown = slowdown_ / count;
    const auto middle = waits_.begin() + static_cast<std::ptrdiff_t>(waits_.size() / 2);
    std::nth_element(waits_.begin(), middle, waits_.end());
    result.median_wait = *middle;
    result.longest_wait = *std::max_element(middle, waits_.end());
    return result;
  }

 private:
  std::vector<std::int64_t> waits_;
  double wait_ = 0;
  double slowdown_ = 0;
  double processor_seconds_ = 0;
};

// Spreads a constant amount over [begin, end) on equal bins.
class Bins {
 public:
  Bins(std::int64_t begin, std::int64_t end, std::uint32_t count)
      : begin_(begin), width_(static_cast<double>(end - begin) / count), edges_(count + 1), partial_(count) {}
  void add(std::int64_t begin, std::int64_t end, double amount) {
    const double from = static_cast<double>(begin - begin_) / width_;
    const double to = static_cast<double>(end - begin_) / width_;
    const std::size_t first = bin(from);
    const std::size_t last = bin(to);
    if (first == last) {
      partial_[first] += amount * (to - from);
      return;
    }
    partial_[first] += amount * (static_cast<double>(first + 1) - from);
    partial_[last] += amount * (to - static_cast<double>(last));
    edges_[first + 1] += amount;
    edges_[last] -= amount;
  }
  std::vector<double> means() const {
    std::vector<double> result(partial_);
    double whole = 0;
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += whole += edges_[i];
    return result;
  }

 private:
  std::size_t bin(double place) const {
    return std::min(static_cast<std::size_t>(place), partial_.size() - 1);
  }
  std::int64_t begin_;
  double width_;
  std::vector<double> edges_;  // changes of the amount at the edges of whole bins
  std::vector<double> partial_;
};

// Jobs that follow others may be submitted earlier than the first of the trace was.
std::int64_t first_submission(std::span<const TraceJob> jobs) {
  const auto earlier = [](const TraceJob& a, const TraceJob& b) { return a.submit < b.submit; };
  return jobs.empty() ? 0 : std::min_element(jobs.begin(), jobs.end(), earlier)->submit;
}

}  // namespace

Summary summarize(std::span<const TraceJob> jobs, std::span<const std::int64_t> starts,
                  std::uint64_t processors) {
  Summary summary;
  Sum sum;
  const std::int64_t begin = first_submission(jobs);
  std::int64_t last_end = begin;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (starts[i] == kNeverStarted) {
      ++summary.never_started;
      continue;
    }
    sum.add(jobs[i], starts[i]);
    last_end = std::max(last_end, starts[i] + jobs[i].runs);
  }
  summary.all = sum.figures();
  if (summary.all.jobs == 0) return summary;
  summary.makespan = last_end - begin;
  summary.utilisation = summary.all.processor_seconds /
                        (static_cast<double>(summary.makespan) * static_cast<double>(processors));
  return summary;
}

std::vector<GroupFigures> summarize_by(std::span<const TraceJob> jobs, std::span<const std::int64_t> starts,
                                       std::uint32_t TraceJob::*member) {
  std::vector<Sum> sums;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (starts[i] == kNeverStarted) continue;
    const std::uint32_t name = jobs[i].*member;
    if (name >= sums.size()) sums.resize(name + 1);
    sums[name].add(jobs[i], starts[i]);
  }
  std::vector<GroupFigures> groups;
  for (std::uint32_t name = 0; name < sums.size(); ++name) {
    if (const Figures figures = sums[name].figures(); figures.jobs > 0) groups.push_back({name, figures});
  }
  std::stable_sort(groups.begin(), groups.end(), [](const GroupFigures& a, const GroupFigures& b) {
    return a.figures.processor_seconds > b.figures.processor_seconds;
  });
  return groups;
}

Timeline timeline(std::span<const TraceJob> jobs, std::span<const std::int64_t> starts, std::uint32_t bins) {
  Timeline result;
  result.begin = first_submission(jobs);
  result.end = result.begin + 1;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (starts[i] != kNeverStarted) result.end = std::max(result.end, starts[i] + jobs[i].runs);
  }
  Bins running(result.begin, result.end, bins);
  Bins waiting(result.begin, result.end, bins);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (starts[i] == kNeverStarted) continue;
    running.add(starts[i], starts[i] + jobs[i].runs, jobs[i].processors);
    waiting.add(jobs[i].submit, starts[i], 1);
  }
  result.running = running.means();
  result.waiting = waiting.means();
  return result;
}

}  // namespace minke::sim
