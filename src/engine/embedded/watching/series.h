// The samples of one run of a job: as many as fit, at times that grow apart as it goes on; and what follows
// from them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/measurement.pb.h"

namespace minke::model {
class Usage;
}  // namespace minke::model

namespace minke::engine {

// When there are more, each two become one: a job of a week has one for every hour or two.
constexpr size_t kMostSamples = 240;

class Series {
 public:
  // `gpus`: UUIDs of the job's GPUs, as each sample has them.
  explicit Series(std::vector<std::string> gpus = {}) : gpus_(std::move(gpus)) {}
  static Series of(const model::Series& stored);

  // Of the time after the last one. Totals never fall: what a sample has less of counts as before. `seconds`:
  // when it was taken, on any clock.
  void add(model::Sample sample, double seconds);

  const std::vector<model::Sample>& samples() const { return samples_; }
  const std::vector<std::string>& gpus() const { return gpus_; }
  uint64_t peak_memory_kib() const { return peak_memory_kib_; }
  model::Series stored() const;

  // As it came last, whether or not it was merged since.
  const model::Sample& last() const { return last_; }
  // Cores in use and bytes a second between the last two samples; 0 before there are two.
  double cores() const;
  uint64_t read_rate() const;
  uint64_t write_rate() const;

  // Adds what was measured from `from` to `until` (s since the epoch) on these GPUs to what is known of a
  // step, or of the whole job. Nothing where no sample is of that time.
  void summarize(int64_t from, int64_t until, const std::vector<std::string>& gpus,
                 model::Usage& usage) const;

 private:
  // Of a total, a second.
  template <typename Total>
  double rate(Total total) const;
  void thin();

  std::vector<std::string> gpus_;
  std::vector<model::Sample> samples_;
  uint64_t peak_memory_kib_ = 0;
  model::Sample before_, last_;
  double seconds_between_ = 0, last_seconds_ = 0;
  uint32_t merged_ = 1;   // samples that one of them stands for
  uint32_t pending_ = 0;  // of those, how many the last one already has; 0: it takes no more
  struct Sums {
    uint64_t utilization = 0, milliwatts = 0, clock_mhz = 0;
  };
  std::vector<Sums> sums_;  // of the pending ones, by GPU: a mean of means would be rounded each time
};

}  // namespace minke::engine
