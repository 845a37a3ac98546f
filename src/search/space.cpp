#include "search/space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "search/quantiles.h"

namespace minke::search {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargestWhole = 9.0e15;  // each integer below is a double of its own

Status wrong(const Parameter& parameter, const std::string& what) {
  return failure("parameter " + parameter.name + ": " + what);
}

Status check_bounds(const Parameter& parameter) {
  if (!std::isfinite(parameter.low) || !std::isfinite(parameter.high))
    return wrong(parameter, "min and max must be numbers");
  if (!(parameter.low < parameter.high) && !(parameter.whole && parameter.low == parameter.high))
    return wrong(parameter, "min must be less than max");
  if (parameter.distribution == Distribution::kLogUniform && parameter.low <= 0)
    return wrong(parameter, "a logarithmic range begins above 0");
  if (parameter.whole && std::max(std::abs(parameter.low), std::abs(parameter.high)) > kLargestWhole)
    return wrong(parameter, "integers are at most 9e15 here");
  return {};
}

Status check_shares(const Parameter& parameter) {
  if (parameter.shares.empty()) return {};
  if (parameter.shares.size() != parameter.values.size())
    return wrong(parameter, "there are " + std::to_string(parameter.values.size()) + " values and " +
                                std::to_string(parameter.shares.size()) + " probabilities");
  double sum = 0;
  for (const double one : parameter.shares) {
    if (!(one >= 0)) return wrong(parameter, "a probability is 0 or more");
    sum += one;
  }
  if (std::abs(sum - 1) > 1e-3) return wrong(parameter, "the probabilities must add up to 1");
  return {};
}

Status check(const Parameter& parameter) {
  switch (parameter.distribution) {
    case Distribution::kConstant:
    case Distribution::kCategorical:
      if (parameter.values.empty()) return wrong(parameter, "it has no values");
      if (parameter.values.size() > Space::kMaxValues)
        return wrong(parameter, "it has more than 10,000 values");
      return check_shares(parameter);
    case Distribution::kIntUniform:
    case Distribution::kUniform:
    case Distribution::kLogUniform:
      if (const Status bounds = check_bounds(parameter); !bounds) return bounds;
      break;
    case Distribution::kNormal:
    case Distribution::kLogNormal:
      if (!std::isfinite(parameter.mu) || !(parameter.sigma > 0) || !std::isfinite(parameter.sigma))
        return wrong(parameter, "mu must be a number, and sigma more than 0");
      break;
    case Distribution::kBeta:
      if (!(std::min(parameter.mu, parameter.sigma) >= 0.01 &&
            std::max(parameter.mu, parameter.sigma) <= 1e4))
        return wrong(parameter, "a and b are between 0.01 and 10,000");
      break;
  }
  if (!(parameter.step >= 0) || !std::isfinite(parameter.step))
    return wrong(parameter, "q must be more than 0");
  return {};
}

}  // namespace

bool same(const Point& a, const Point& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return false;
    if (!std::isnan(a[i]) && std::abs(a[i] - b[i]) > 1e-12) return false;
  }
  return true;
}

Status Space::add(Parameter parameter) {
  if (parameters_.size() == kMaxParameters) return failure("a search has 500 parameters at most");
  if (const Status checked = check(parameter); !checked) return checked;
  for (const Parameter& other : parameters_) {
    if (other.name == parameter.name) return wrong(parameter, "there are two of this name");
  }
  for (const Condition& condition : parameter.conditions) {
    MINKE_CHECK(condition.parameter < parameters_.size());
  }
  if (parameter.path.empty()) parameter.path = {parameter.name};
  parameters_.push_back(std::move(parameter));
  return {};
}

// An integer k has the share of [k - 0.5, k + 0.5), so that the first and last are as likely as the others.
double Space::number(const Parameter& parameter, double share) const {
  const bool whole_range = parameter.distribution == Distribution::kIntUniform && parameter.step == 0;
  const double low = whole_range ? parameter.low - 0.5 : parameter.low;
  const double high = whole_range ? parameter.high + 0.5 : parameter.high;
  double number = 0;
  switch (parameter.distribution) {
    case Distribution::kIntUniform:
    case Distribution::kUniform:
      number = low + share * (high - low);
      break;
    case Distribution::kLogUniform:
      number = low * std::pow(high / low, share);
      break;
    case Distribution::kNormal:
      number = parameter.mu + parameter.sigma * normal_quantile(share);
      break;
    case Distribution::kLogNormal:
      number = std::exp(parameter.mu + parameter.sigma * normal_quantile(share));
      break;
    case Distribution::kBeta:
      number = beta_quantile(parameter.mu, parameter.sigma, share);
      break;
    default:
      MINKE_CHECK(false);
  }
  if (parameter.step > 0) number = std::round(number / parameter.step) * parameter.step;
  if (parameter.whole) number = std::clamp(std::round(number), -kLargestWhole, kLargestWhole);
  const bool bounded = parameter.distribution == Distribution::kIntUniform ||
                       (parameter.step == 0 && (parameter.distribution == Distribution::kUniform ||
                                                parameter.distribution == Distribution::kLogUniform));
  return bounded ? std::clamp(number, parameter.low, parameter.high) : number;
}

double Space::share(const Parameter& parameter, double number) const {
  const bool whole_range = parameter.distribution == Distribution::kIntUniform && parameter.step == 0;
  const double low = whole_range ? parameter.low - 0.5 : parameter.low;
  const double high = whole_range ? parameter.high + 0.5 : parameter.high;
  switch (parameter.distribution) {
    case Distribution::kIntUniform:
    case Distribution::kUniform:
      return std::clamp((number - low) / (high - low), 0.0, 1.0);
    case Distribution::kLogUniform:
      if (number <= low) return 0;
      return std::clamp(std::log(number / low) / std::log(high / low), 0.0, 1.0);
    case Distribution::kNormal:
      return normal_share((number - parameter.mu) / parameter.sigma);
    case Distribution::kLogNormal:
      return number <= 0 ? 0 : normal_share((std::log(number) - parameter.mu) / parameter.sigma);
    case Distribution::kBeta:
      return beta_share(parameter.mu, parameter.sigma, number);
    default:
      MINKE_CHECK(false);
      return 0;
  }
}

bool Space::applies(size_t parameter, const Point& point) const {
  for (const Condition& condition : parameters_[parameter].conditions) {
    const double at = point[condition.parameter];
    if (std::isnan(at)) return false;
    const auto index = static_cast<size_t>(at);
    if (std::find(condition.categories.begin(), condition.categories.end(), index) ==
        condition.categories.end())
      return false;
  }
  return true;
}

void Space::snap(Point& point) const {
  point.resize(parameters_.size(), kNone);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!applies(i, point)) {
      point[i] = kNone;
      continue;
    }
    const Parameter& parameter = parameters_[i];
    double& at = point[i];
    if (parameter.is_category()) {
      const double last = static_cast<double>(parameter.values.size() - 1);
      at = std::isnan(at) ? 0 : std::clamp(std::round(at), 0.0, last);
      continue;
    }
    at = std::isnan(at) ? 0.5 : std::clamp(at, 0.0, 1.0);
    if (parameter.step > 0 || parameter.whole) at = share(parameter, number(parameter, at));
  }
}

Space::Reach Space::reach(size_t parameter) const {
  const Distribution distribution = parameters_[parameter].distribution;
  const bool endless = distribution == Distribution::kNormal || distribution == Distribution::kLogNormal;
  return endless ? Reach{0.001, 0.999} : Reach{0, 1};
}

void Space::hold(Point& point) const {
  bool moved = false;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].is_category() || std::isnan(point[i])) continue;
    const double inside = std::clamp(point[i], reach(i).low, reach(i).high);
    moved = moved || inside != point[i];
    point[i] = inside;
  }
  if (moved) snap(point);
}

size_t Space::category(size_t parameter, double share) const {
  const Parameter& one = parameters_[parameter];
  if (one.shares.empty())
    return std::min(one.values.size() - 1,
                    static_cast<size_t>(share * static_cast<double>(one.values.size())));
  double sum = 0;
  size_t last = 0;  // that has a share: rounding may leave some of [0, 1) to nobody
  for (size_t i = 0; i < one.shares.size(); ++i) {
    if (one.shares[i] > 0) last = i;
    sum += one.shares[i];
    if (share < sum) return i;
  }
  return last;
}

Point Space::random(Random& random) const {
  Point point;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const double share = random.uniform();
    point.push_back(parameters_[i].is_category() ? static_cast<double>(category(i, share)) : share);
  }
  snap(point);
  return point;
}

Value Space::value(size_t parameter, double coordinate) const {
  const Parameter& one = parameters_[parameter];
  if (one.is_category()) return one.values[std::min(one.values.size() - 1, static_cast<size_t>(coordinate))];
  const double found = number(one, coordinate);
  if (one.whole) return static_cast<int64_t>(std::llround(found));
  return found;
}

double Space::coordinate(size_t parameter, const Value& value) const {
  const Parameter& one = parameters_[parameter];
  if (one.is_category()) {
    const auto found = std::find(one.values.begin(), one.values.end(), value);
    return found == one.values.end() ? kNone : static_cast<double>(found - one.values.begin());
  }
  if (const auto* whole = std::get_if<int64_t>(&value)) return share(one, static_cast<double>(*whole));
  if (const auto* real = std::get_if<double>(&value); real != nullptr && std::isfinite(*real))
    return share(one, *real);
  return kNone;
}

size_t Space::count(size_t parameter) const {
  const Parameter& one = parameters_[parameter];
  if (one.is_category()) return one.values.size();
  const bool bounded = one.distribution == Distribution::kIntUniform ||
                       one.distribution == Distribution::kUniform ||
                       one.distribution == Distribution::kLogUniform;
  const double step = one.step > 0 ? one.step : one.whole ? 1 : 0;
  if (!bounded || step == 0) return 0;
  const double steps = std::round(one.high / step) - std::round(one.low / step) + 1;
  return steps > 1e9 ? 0 : static_cast<size_t>(steps);
}

std::string Space::json(const Point& point) const {
  auto root = nlohmann::ordered_json::object();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (std::isnan(point[i])) continue;
    auto* at = &root;
    for (const std::string& part : parameters_[i].path) {
      if (!at->is_object()) *at = nlohmann::ordered_json::object();
      at = &(*at)[part];
    }
    *at = nlohmann::ordered_json::parse(json_of(value(i, point[i])), nullptr, false);
  }
  return root.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace minke::search
