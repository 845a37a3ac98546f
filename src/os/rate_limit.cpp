#include "os/rate_limit.h"

#include <algorithm>

namespace minke::os {

RateLimit::RateLimit(uint32_t times, std::chrono::nanoseconds period, size_t most_keys)
    : times_(times), period_(period), most_keys_(most_keys) {}

RateLimit::Answer RateLimit::ask(const std::string& key, Time now) {
  Bucket& bucket = bucket_of(key, now);
  fill(bucket, now);
  if (bucket.left < 1) {
    ++bucket.refused;
    return {};
  }
  bucket.left -= 1;
  const Answer answer{true, bucket.refused};
  bucket.refused = 0;
  return answer;
}

void RateLimit::fill(Bucket& bucket, Time now) const {
  const double periods = std::chrono::duration<double>(now - bucket.filled) / period_;
  bucket.left = std::min<double>(times_, bucket.left + std::max(0.0, periods) * times_);
  bucket.filled = now;
}

RateLimit::Bucket& RateLimit::bucket_of(const std::string& key, Time now) {
  if (const auto known = buckets_.find(key); known != buckets_.end()) return known->second;
  if (buckets_.size() >= most_keys_)
    std::erase_if(buckets_, [&](const auto& entry) { return now - entry.second.filled > period_; });
  const std::string& place = buckets_.size() < most_keys_ ? key : std::string();
  return buckets_.try_emplace(place, Bucket{static_cast<double>(times_), now, 0}).first->second;
}

}  // namespace minke::os
