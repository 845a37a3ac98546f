// What jobs held together over time: processors and GPUs at each moment where that changed. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace minke::view {

class HeldOverTime {
 public:
  // From `start` to `end`, s since the epoch.
  void add(int64_t start, int64_t end, int64_t cpus, int64_t gpus);

  struct Step {
    int64_t time = 0;  // from then on
    int64_t cpus = 0, gpus = 0;
    bool operator==(const Step&) const = default;
  };
  // From `since` to `until`, both among them. At most about `most`: more are merged into equal spans of time,
  // each with the largest of its values.
  std::vector<Step> steps(int64_t since, int64_t until, size_t most = 2000) const;

 private:
  std::map<int64_t, std::pair<int64_t, int64_t>> changes_;
};

}  // namespace minke::view
