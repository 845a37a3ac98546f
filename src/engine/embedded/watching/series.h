// Series: the samples of one run of a job, a bounded number whose distances grow with the run, and the
// values that follow from them. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "engine/embedded/watching/gpu_figures.h"
#include "model/measurement.pb.h"

namespace minke::model {
class Usage;
}  // namespace minke::model

namespace minke::engine {

// With more samples, each pair is merged: a job of a week has one for every hour or two.
constexpr size_t kMostSamples = 240;
constexpr size_t kMostProcessors = 256;

class Series {
 public:
  // `gpus`: UUIDs of the job's GPUs, in the order of each sample.
  explicit Series(std::vector<std::string> gpus = {}) : gpus_(std::move(gpus)) {}
  static Series of(const model::Series& stored);

  // Adds a sample for the time since the last one. Totals never fall: a smaller total counts as unchanged.
  // `seconds`: when it was taken, on any clock.
  void add(model::Sample sample, double seconds);

  // Samples tell the busy time of these processors from now on, behind those that are known. No more than
  // kMostProcessors are.
  void know_processors(const std::set<uint32_t>& ids);

  const std::vector<model::Sample>& samples() const { return samples_; }
  const std::vector<std::string>& gpus() const { return gpus_; }
  const std::vector<uint32_t>& processors() const { return processors_; }
  uint64_t peak_memory_kib() const { return peak_memory_kib_; }
  model::Series stored() const;

  // The last sample as it was added, even if it has been merged since.
  const model::Sample& last() const { return last_; }
  // Cores in use and bytes per second between the last two samples; 0 before there are two.
  double cores() const;
  uint64_t read_rate() const;
  uint64_t write_rate() const;

  // Adds the measurements between `from` and `until` (s since the epoch) on these GPUs to the usage of a step
  // or of the whole job. Does nothing if no sample is from that time.
  void summarize(int64_t from, int64_t until, const std::vector<std::string>& gpus,
                 model::Usage& usage) const;

 private:
  // The increase of a total per second.
  template <typename Total>
  double rate(Total total) const;
  void thin();

  std::vector<std::string> gpus_;
  std::vector<uint32_t> processors_;  // in the order of each sample; earlier samples may have fewer
  std::vector<model::Sample> samples_;
  uint64_t peak_memory_kib_ = 0;
  model::Sample before_, last_;
  double seconds_between_ = 0, last_seconds_ = 0;
  uint32_t merged_ = 1;   // number of added samples that each kept one stands for
  uint32_t pending_ = 0;  // how many of those the last one has so far; 0: it is complete
  struct Sums {
    uint64_t utilization = 0, memory_utilization = 0, milliwatts = 0, clock_mhz = 0;
    GpuFigures figures;
  };
  uint64_t threads_ = 0, running_threads_ = 0;  // sums of the pending samples, as sums_
  std::vector<Sums> sums_;  // of the pending samples, by GPU: averaging averages would round each time
};

}  // namespace minke::engine
