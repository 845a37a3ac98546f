// What has changed in the queue between two looks, as far as pages show it. Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::portal {

class QueueDifference {
 public:
  static constexpr size_t kMostNamed = 200;

  struct Changed {
    size_t count = 0;                            // with jobs that are gone
    std::vector<const model::JobRecord*> named;  // the first ones of those that are there
  };

  // Compares with the look before. The first look has none before it: it gives what was submitted, began or
  // ended since `since`, s since the epoch by the cluster's clock.
  Changed look(std::span<const model::JobRecord* const> jobs, int64_t since);

 private:
  std::unordered_map<uint32_t, uint64_t> last_;  // by job: a hash of what pages show
  bool has_last_ = false;
};

}  // namespace minke::portal
