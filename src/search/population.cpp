#include "search/population.h"

#include <algorithm>
#include <cmath>
#include <variant>

namespace minke::search {

Status check(const PopulationSettings& settings) {
  if (settings.size < 2 || settings.size > 10000) return failure("population: size is between 2 and 10,000");
  if (settings.interval < 1 || settings.max < settings.interval)
    return failure("population: interval must be 1 at least, and max no less than interval");
  if (!(settings.quantile > 0 && settings.quantile <= 0.5))
    return failure("population: quantile is more than 0, and 0.5 at most");
  if (!(settings.resample >= 0 && settings.resample <= 1))
    return failure("population: resample is between 0 and 1");
  return {};
}

Point Population::explored(const Point& point, Random& random) const {
  Point changed = point;
  for (size_t i = 0; i < space_.size(); ++i) {
    const Parameter& parameter = space_.parameters()[i];
    const double draw = random.uniform(), other = random.uniform();
    if (std::isnan(point[i])) {
      changed[i] = parameter.is_category() ? static_cast<double>(space_.category(i, other)) : other;
    } else if (draw < settings_.resample) {
      changed[i] = parameter.is_category() ? static_cast<double>(space_.category(i, other)) : other;
    } else if (!parameter.is_category()) {
      const Value value = space_.value(i, point[i]);
      const double number = std::holds_alternative<int64_t>(value)
                                ? static_cast<double>(std::get<int64_t>(value))
                                : std::get<double>(value);
      const double at = space_.coordinate(i, number * (other < 0.5 ? 0.8 : 1.2));
      if (!std::isnan(at)) changed[i] = std::clamp(at, space_.reach(i).low, space_.reach(i).high);
    }
  }
  space_.snap(changed);
  return changed;
}

// `order` has the members of the last generation, the best first; `place` is that of the member to train.
Population::Step Population::following(size_t place, const std::vector<uint64_t>& order) const {
  Step step;
  step.member = order[place];
  step.budget = std::min(settled_budget_ + settings_.interval, settings_.max);
  step.point = settled_points_.at(step.member);
  const auto replaced =
      std::max<size_t>(1, static_cast<size_t>(settings_.quantile * static_cast<double>(order.size())));
  const bool failed = !std::isfinite(settled_.at(step.member));
  if (place + replaced < order.size() && !failed) return step;
  Random random(seed_ ^ (step.budget * 0x9e3779b97f4a7c15u), step.member);
  const uint64_t source = order[random.below(std::min(replaced, order.size() - replaced))];
  if (source == step.member || !std::isfinite(settled_.at(source))) return step;
  step.source = source;
  step.point = explored(settled_points_.at(source), random);
  return step;
}

std::optional<Population::Step> Population::next() const {
  if (members_.size() < settings_.size) {
    Step step;
    step.member = members_.empty() ? 1 : members_.rbegin()->first + 1;
    step.budget = settings_.interval;
    Random random(seed_, step.member);
    step.point = space_.random(random);
    return step;
  }
  if (settled_.size() < settings_.size || settled_budget_ >= settings_.max) return std::nullopt;
  std::vector<uint64_t> order;
  for (const auto& [member, value] : settled_) order.push_back(member);
  std::stable_sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) {
    const double x = settled_.at(a), y = settled_.at(b);
    return std::isfinite(x) && (!std::isfinite(y) || x < y);
  });
  // From the worst: nobody's state is copied after it has gone on.
  std::optional<Step> step;
  for (size_t place = order.size(); place-- > 0;) {
    if (members_.at(order[place]).budget > settled_budget_) continue;
    const Step one = following(place, order);
    if (one.source) return one;
    if (!step) step = one;
  }
  return step;
}

void Population::assign(const Step& step) {
  Member& member = members_[step.member];
  member.point = step.point;
  member.budget = step.budget;
  member.training = true;
}

void Population::tell(uint64_t number, double value) {
  const auto found = members_.find(number);
  if (found == members_.end()) return;
  found->second.training = false;
  found->second.value = value;
  const uint64_t budget = found->second.budget;
  const bool whole = members_.size() >= settings_.size &&
                     std::all_of(members_.begin(), members_.end(), [&](const auto& one) {
                       return !one.second.training && one.second.budget == budget;
                     });
  if (!whole) return;
  settled_budget_ = budget;
  for (const auto& [member, state] : members_) {
    settled_[member] = state.value;
    settled_points_[member] = state.point;
  }
}

}  // namespace minke::search
