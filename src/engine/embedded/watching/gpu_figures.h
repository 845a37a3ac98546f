// GpuFigures: the parts of a GPU's cycles and the rates of its links, added up to means. A figure that a
// sample lacks was not measured then, and is no 0: the mean is that of the others. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "model/measurement.pb.h"

namespace minke::engine {

// Nothing: it was not measured.
std::optional<uint64_t> figure_of(const model::Sample::Gpu& gpu, model::GpuPart part);

class GpuFigures {
 public:
  void add(const model::Sample::Gpu& gpu);
  // Replaces the GPU's figures with the means of those that were added.
  void put_means(model::Sample::Gpu& gpu) const;

 private:
  struct Sum {
    uint64_t sum = 0, count = 0;
  };
  std::map<model::GpuPart, Sum> sums_;
};

}  // namespace minke::engine
