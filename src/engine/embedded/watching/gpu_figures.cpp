#include "engine/embedded/watching/gpu_figures.h"

namespace minke::engine {

std::optional<uint64_t> figure_of(const model::Sample::Gpu& gpu, model::GpuPart part) {
  for (const model::GpuFigure& figure : gpu.figures())
    if (figure.part() == part) return figure.value();
  return std::nullopt;
}

void GpuFigures::add(const model::Sample::Gpu& gpu) {
  for (const model::GpuFigure& figure : gpu.figures()) {
    Sum& sum = sums_[figure.part()];
    sum.sum += figure.value();
    ++sum.count;
  }
}

void GpuFigures::put_means(model::Sample::Gpu& gpu) const {
  gpu.clear_figures();
  for (const auto& [part, sum] : sums_) {
    model::GpuFigure& figure = *gpu.add_figures();
    figure.set_part(part);
    figure.set_value((sum.sum + sum.count / 2) / sum.count);
  }
}

}  // namespace minke::engine
