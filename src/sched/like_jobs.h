// LikeJobs: equal jobs that follow one another in the queue, with their planned starts.
//
// Invariant: the starts ascend in the order of the jobs. So if one job can start earlier, it does not matter
// which: each next job takes the place that the one before it left, and only one start in the set changes. A
// question costs O(log n); a change moves the starts in between (8 bytes each). Owned by a ConservativePlan.
// each). Owned by one ConservativePlan; pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace minke::sched {

class LikeJobs {
 public:
  using JobKey = std::uint32_t;

  LikeJobs() = default;
  LikeJobs(std::int32_t processors, std::int64_t seconds) : processors_(processors), seconds_(seconds) {}

  std::int32_t processors() const { return processors_; }
  std::int64_t seconds() const { return seconds_; }
  bool empty() const { return head_ == starts_.size(); }
  std::size_t size() const { return starts_.size() - head_; }

  // `start` must not be before last().
  void append(JobKey job, std::int64_t start) {
    if (head_ > jobs_.size() / 2 && jobs_.size() == jobs_.capacity()) {
      jobs_.erase(jobs_.begin(), jobs_.begin() + head());
      starts_.erase(starts_.begin(), starts_.begin() + head());
      head_ = 0;
    }
    jobs_.push_back(job);
    starts_.push_back(start);
  }
  // Removes and returns the job that starts first.
  JobKey pop() { return jobs_[head_++]; }

  // These require that it is not empty.
  std::int64_t first() const { return starts_[head_]; }
  std::int64_t last() const { return starts_.back(); }
  // `number` counts from the job that starts first.
  std::int64_t start(std::size_t number) const { return starts_[head_ + number]; }
  // The first job that starts after `time`; requires last() > time. It has no branches, because a branch
  // predictor cannot foresee where a time lies.
  std::size_t first_after(std::int64_t time) const {
    const std::int64_t* base = starts_.data() + head_;
    for (std::size_t count = size(); count > 1;) {
      const std::size_t half = count / 2;
      base += base[half - 1] <= time ? half : 0;
      count -= half;
    }
    return static_cast<std::size_t>(base - starts_.data()) - head_;
  }
  // Job `first` now starts at `to`, which is no later than before. Each following job up to `last` takes the
  // former start of the job before it.
  void shift(std::size_t first, std::size_t last, std::int64_t to) {
    const auto begin = starts_.begin() + head() + static_cast<std::ptrdiff_t>(first);
    if (first != last)
      std::copy_backward(begin, begin + static_cast<std::ptrdiff_t>(last - first),
                         begin + static_cast<std::ptrdiff_t>(last - first) + 1);
    *begin = to;
  }
  // Jobs `first` to `last` start `by` seconds earlier, still not before the job in front of them.
  void advance(std::size_t first, std::size_t last, std::int64_t by) {
    for (std::size_t i = first; i <= last; ++i) starts_[head_ + i] -= by;
  }
  // Whether a job that follows in the queue can be appended to these.
  bool is_like(std::int32_t processors, std::int64_t seconds, std::int64_t start) const {
    return processors == processors_ && seconds == seconds_ && (empty() || start >= last());
  }
  // Appends equal jobs that follow these in the queue.
  void append(const LikeJobs& other) {
    jobs_.insert(jobs_.end(), other.jobs_.begin() + other.head(), other.jobs_.end());
    starts_.insert(starts_.end(), other.starts_.begin() + other.head(), other.starts_.end());
  }

 private:
  std::ptrdiff_t head() const { return static_cast<std::ptrdiff_t>(head_); }

  std::int32_t processors_ = 0;
  std::int64_t seconds_ = 0;
  std::size_t head_ = 0;  // everything before it has started
  std::vector<JobKey> jobs_;
  std::vector<std::int64_t> starts_;
};

}  // namespace minke::sched
