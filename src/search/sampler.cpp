#include "search/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "search/sequences.h"

namespace minke::search {

namespace {

constexpr std::array<std::pair<std::string_view, Method>, 6> kMethods = {{{"grid", Method::kGrid},
                                                                          {"random", Method::kRandom},
                                                                          {"sobol", Method::kSobol},
                                                                          {"halton", Method::kHalton},
                                                                          {"tpe", Method::kTpe},
                                                                          {"bayes", Method::kBayes}}};

// How many parameters there is something to choose of.
size_t free_parameters(const Space& space) {
  size_t count = 0;
  for (size_t i = 0; i < space.size(); ++i) count += space.count(i) != 1 ? 1 : 0;
  return count;
}

size_t first_trials(const Space& space, const Sampler& sampler) {
  if (sampler.first_trials > 0) return sampler.first_trials;
  return sampler.method == Method::kTpe ? 10 : std::clamp<size_t>(free_parameters(space) + 2, 4, 12);
}

// The coordinate of the k-th value of a parameter with finitely many.
double grid_coordinate(const Space& space, size_t parameter, size_t k) {
  const Parameter& one = space.parameters()[parameter];
  if (one.is_category()) return static_cast<double>(k);
  const double step = one.step > 0 ? one.step : 1;
  const double number = (std::round(one.low / step) + static_cast<double>(k)) * step;
  return space.coordinate(parameter, number);
}

size_t grid_index(const Space& space, size_t parameter, double coordinate) {
  const Parameter& one = space.parameters()[parameter];
  if (one.is_category()) return static_cast<size_t>(coordinate);
  const double step = one.step > 0 ? one.step : 1;
  const Value value = space.value(parameter, coordinate);
  const double number = std::holds_alternative<int64_t>(value) ? static_cast<double>(std::get<int64_t>(value))
                                                               : std::get<double>(value);
  return static_cast<size_t>(std::max(0.0, std::round(number / step) - std::round(one.low / step)));
}

}  // namespace

std::optional<Method> method_of(std::string_view name) {
  for (const auto& [known, method] : kMethods) {
    if (known == name) return method;
  }
  return std::nullopt;
}

std::string_view method_name(Method method) {
  for (const auto& [name, known] : kMethods) {
    if (known == method) return name;
  }
  return {};
}

double grid_size(const Space& space) {
  double size = 1;
  for (size_t i = 0; i < space.size(); ++i) size *= static_cast<double>(space.count(i));
  return size > 1e15 ? 0 : size;
}

// The last parameter changes fastest, as in W&B's grids.
std::optional<Point> next_grid_point(const Space& space, const Point* previous) {
  Point point(space.size());
  size_t fixed = 0;  // so many parameters are as in the previous point
  if (previous != nullptr) {
    size_t at = space.size();
    for (; at > 0; --at) {
      const double now = (*previous)[at - 1];
      if (std::isnan(now)) continue;
      const size_t next = grid_index(space, at - 1, now) + 1;
      if (next >= space.count(at - 1)) continue;
      point = *previous;
      point[at - 1] = grid_coordinate(space, at - 1, next);
      fixed = at;
      break;
    }
    if (at == 0) return std::nullopt;
  }
  for (size_t i = fixed; i < space.size(); ++i) point[i] = grid_coordinate(space, i, 0);
  space.snap(point);
  return point;
}

Point spread_point(const Space& space, Method method, uint64_t seed, uint64_t number) {
  const size_t size = space.size();
  const bool sobol = method == Method::kSobol && size <= kSobolDimensions;
  // A shift of all points by the same amount: other points for another seed, spread as evenly.
  Random shifts(seed, 0x51);
  std::vector<double> shares = sobol ? sobol_point(number + 1, size) : halton_point(number + 1, size);
  for (double& share : shares) {
    share += shifts.uniform();
    share -= std::floor(share);
  }
  for (size_t i = 0; i < size; ++i) {
    if (space.parameters()[i].is_category()) shares[i] = static_cast<double>(space.category(i, shares[i]));
  }
  space.snap(shares);
  return shares;
}

std::optional<Point> suggest(const Space& space, const Sampler& sampler,
                             const std::vector<Observation>& history, uint64_t number) {
  Random random(sampler.seed, number);
  switch (sampler.method) {
    case Method::kGrid:
      return next_grid_point(space, history.empty() ? nullptr : &history.back().point);
    case Method::kRandom:
      return space.random(random);
    case Method::kSobol:
    case Method::kHalton:
      return spread_point(space, sampler.method, sampler.seed, number);
    case Method::kTpe:
    case Method::kBayes:
      break;
  }
  const auto known = static_cast<size_t>(std::count_if(
      history.begin(), history.end(), [](const Observation& one) { return std::isfinite(one.value); }));
  // In the beginning, and as long as nothing has come of many trials at once.
  if (number < first_trials(space, sampler) || known < 2)
    return spread_point(space, Method::kSobol, sampler.seed, number);
  return sampler.method == Method::kTpe ? tpe_point(space, history, random)
                                        : bayes_point(space, history, random);
}

}  // namespace minke::search
