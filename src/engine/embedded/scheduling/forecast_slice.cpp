#include "engine/embedded/scheduling/forecast_slice.h"

#include <chrono>

namespace minke::engine {

namespace {

constexpr std::chrono::milliseconds kSlice{3};
constexpr int kMostPasses = 50;  // in a slice, however fast they are
constexpr uint32_t kPasses = 2;  // between two looks at the clock

}  // namespace

bool go_on_for_a_slice(sched::ForecastInPieces& forecast) {
  const auto begin = std::chrono::steady_clock::now();
  for (int passes = 0; passes < kMostPasses; passes += kPasses) {
    if (forecast.go_on(kPasses)) return true;
    if (std::chrono::steady_clock::now() - begin > kSlice) return false;
  }
  return false;
}

}  // namespace minke::engine
