#include "search/early_stop.h"

#include <algorithm>
#include <cmath>

namespace minke::search {

namespace {

constexpr size_t kMostBrackets = 64;
constexpr double kMostIterations = 1e15;

}  // namespace

Status check(const EarlyStop& settings) {
  if (settings.min_iter == 0 && settings.max_iter == 0)
    return failure("early_terminate needs min_iter, or max_iter with s");
  if (settings.min_iter == 0 && settings.s == 0)
    return failure("early_terminate: max_iter needs s, the number of brackets");
  if (!(settings.eta > 1) || !std::isfinite(settings.eta))
    return failure("early_terminate: eta must be more than 1");
  if (static_cast<double>(std::max(settings.min_iter, settings.max_iter)) > kMostIterations)
    return failure("early_terminate: that many iterations nobody makes");
  return {};
}

std::vector<uint64_t> brackets(const EarlyStop& settings) {
  std::vector<uint64_t> found;
  const auto add = [&](double band) {
    const auto whole = static_cast<uint64_t>(band);
    if (found.empty() || found.back() != whole) found.push_back(whole);
  };
  if (settings.min_iter > 0) {
    for (double band = static_cast<double>(settings.min_iter);
         band <= kMostIterations && found.size() < kMostBrackets; band *= settings.eta)
      add(band);
    return found;
  }
  double band = static_cast<double>(settings.max_iter);
  for (uint64_t i = 0; i < std::min<uint64_t>(settings.s, kMostBrackets); ++i) {
    band /= settings.eta;
    if (band < 1) break;
    add(band);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

void EarlyStopping::report(uint64_t trial, uint64_t count, double best) {
  if (!std::isfinite(best)) return;
  Course& course = courses_[trial];
  course.best = course.count == 0 ? best : std::min(course.best, best);
  course.count = std::max(course.count, count);
  for (const uint64_t bracket : brackets_) {
    if (bracket > course.count) break;
    course.at.emplace(bracket, course.best);
  }
}

bool EarlyStopping::should_stop(uint64_t trial) const {
  const auto found = courses_.find(trial);
  if (found == courses_.end() || found->second.at.empty()) return false;
  const auto& [bracket, then] = *found->second.at.rbegin();
  std::vector<double> values;
  for (const auto& [other, course] : courses_) {
    if (const auto at = course.at.find(bracket); at != course.at.end()) values.push_back(at->second);
  }
  if (static_cast<double>(values.size()) < settings_.eta) return false;
  const auto place = static_cast<size_t>(std::ceil(static_cast<double>(values.size()) / settings_.eta)) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(place), values.end());
  return (settings_.strict ? then : found->second.best) > values[place];
}

}  // namespace minke::search
