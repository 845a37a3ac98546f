// How often something may happen: so many times at once, and as often again in each period, for each key by
// itself.
//
// Keys that nobody has used for a period are forgotten; when there are too many, those that come share one.
// The clock is the caller's. One thread.
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
