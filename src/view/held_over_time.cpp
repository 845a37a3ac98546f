#include "view/held_over_time.h"

#include <algorithm>

namespace minke::view {

void HeldOverTime::add(int64_t start, int64_t end, int64_t cpus, int64_t gpus) {
  if (end <= start) return;
  changes_[start].first += cpus;
  changes_[start].second += gpus;
  changes_[end].first -= cpus;
  changes_[end].second -= gpus;
}

std::vector<HeldOverTime::Step> HeldOverTime::steps(int64_t since, int64_t until, size_t most) const {
  std::vector<Step> all = {{since, 0, 0}};
  Step now{since, 0, 0};
  for (const auto& [time, change] : changes_) {
    if (time > until) break;
    now.time = std::max(since, time);
    now.cpus += change.first;
    now.gpus += change.second;
    if (now.time == all.back().time)
      all.back() = now;
    else
      all.push_back(now);
  }
  const Step last{until, all.back().cpus, all.back().gpus};
  if (all.size() > most && most > 0) {
    const int64_t span = std::max<int64_t>(1, (until - since) / static_cast<int64_t>(most));
    std::vector<Step> few;
    for (const Step& one : all) {
      const int64_t begin = since + (one.time - since) / span * span;
      if (few.empty() || few.back().time != begin) {
        few.push_back({begin, one.cpus, one.gpus});
      } else {
        few.back().cpus = std::max(few.back().cpus, one.cpus);
        few.back().gpus = std::max(few.back().gpus, one.gpus);
      }
    }
    all = std::move(few);
  }
  if (all.back().time < until) all.push_back(last);
  return all;
}

}  // namespace minke::view
