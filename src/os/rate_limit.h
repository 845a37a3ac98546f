// Limits how often something may happen: a burst of so many, and as many again in each period, for
// each key separately.
//
// Keys that were not used for a period are forgotten; if there are too many, new ones share one. The caller
// passes the time. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace minke::os {

class RateLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  RateLimit(uint32_t times, std::chrono::nanoseconds period, size_t most_keys = 4096);

  struct Answer {
    bool allowed = false;
    uint64_t refused_before = 0;  // with `allowed`: how many since the last that was allowed
  };
  Answer ask(const std::string& key, Time now);

 private:
  struct Bucket {
    double left = 0;
    Time filled;
    uint64_t refused = 0;
  };
  Bucket& bucket_of(const std::string& key, Time now);
  void fill(Bucket& bucket, Time now) const;

  uint32_t times_;
  std::chrono::nanoseconds period_;
  size_t most_keys_;
  std::unordered_map<std::string, Bucket> buckets_;
};

}  // namespace minke::os
