// Bayesian optimisation: a Gaussian process, and the point of the largest expected improvement.
//
// J. Mockus, 1978; D. R. Jones et al., Efficient global optimization of expensive black-box functions, 1998.
// The logarithm of the improvement is used (S. Ament et al., Unexpected improvements to expected improvement,
// 2023). Integers and categories are asked about where they can be (E. C. Garrido-Merchán and D.
// Hernández-Lobato, 2020): categories count by whether they are equal. A parameter that does not apply counts
// as in its middle. Trials that run are given their expected value as a lie (D. Ginsbourger et al., Kriging
// is well-suited to parallelize optimization, 2010). Values are made more normal before (G. Box and D. Cox,
// 1964).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "search/gaussian_process.h"
#include "search/minimise.h"
#include "search/quantiles.h"
#include "search/sampler.h"

namespace minke::search {

namespace {

constexpr size_t kMostFitted = 120;  // points from which hyperparameters are found
constexpr size_t kMostKnown = 300;   // points that the process knows
constexpr int kFitIterations = 40;
constexpr size_t kClimbs = 6;  // local searches

// From points of the space to inputs of the process: a number is one, a category one for each of its values.
class Encoder {
 public:
  explicit Encoder(const Space& space) : space_(space) {
    size_t group = 0;
    for (size_t i = 0; i < space.size(); ++i) {
      first_.push_back(groups_.size());
      if (space.count(i) == 1) continue;
      const bool category = space.parameters()[i].is_category();
      groups_.insert(groups_.end(), category ? space.parameters()[i].values.size() : 1, group++);
      if (!category && (space.count(i) == 0 || space.count(i) > 16)) continuous_.push_back(i);
    }
  }
  const std::vector<size_t>& groups() const { return groups_; }
  // Parameters along which a slope means something.
  const std::vector<size_t>& continuous() const { return continuous_; }
  size_t input_of(size_t parameter) const { return first_[parameter]; }

  std::vector<double> operator()(const Point& point) const {
    std::vector<double> inputs(groups_.size(), 0.0);
    for (size_t i = 0; i < space_.size(); ++i) {
      if (space_.count(i) == 1) continue;
      if (!space_.parameters()[i].is_category())
        inputs[first_[i]] = std::isnan(point[i]) ? 0.5 : point[i];
      else if (!std::isnan(point[i]))
        inputs[first_[i] + static_cast<size_t>(point[i])] = std::numbers::sqrt2 / 2;
    }
    return inputs;
  }

 private:
  const Space& space_;
  std::vector<size_t> groups_, first_, continuous_;
};

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
double deviation_of(const std::vector<double>& values, double mean) {
  double squares = 0;
  for (const double one : values) squares += (one - mean) * (one - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// Mean 0 and deviation 1, after the Box-Cox transformation whose values are most like normal ones.
std::vector<double> made_normal(const std::vector<double>& values) {
  const double least = *std::min_element(values.begin(), values.end());
  std::vector<double> sorted = values;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2),
                   sorted.end());
  const double scale = sorted[sorted.size() / 2] - least;
  std::vector<double> best(values.size(), 0.0);
  double best_likelihood = -std::numeric_limits<double>::infinity();
  for (const double power : {1.0, 0.5, 0.25, 0.0}) {
    if (!(scale > 0) && power != 1) break;
    std::vector<double> changed;
    double jacobian = 0;
    for (const double value : values) {
      const double x = power == 1 ? value : (value - least) / scale + 0.02;
      changed.push_back(power == 1 ? value : power == 0 ? std::log(x) : (std::pow(x, power) - 1) / power);
      if (power != 1) jacobian += (power - 1) * std::log(x) - std::log(scale);
    }
    const double mean = mean_of(changed), deviation = deviation_of(changed, mean);
    if (!(deviation > 0) || !std::isfinite(deviation)) continue;
    const double likelihood = jacobian - static_cast<double>(values.size()) * std::log(deviation);
    if (likelihood <= best_likelihood) continue;
    best_likelihood = likelihood;
    for (size_t i = 0; i < changed.size(); ++i) best[i] = (changed[i] - mean) / deviation;
  }
  return best;
}

// log(z Phi(z) + phi(z)), with its derivatives' parts: Phi and phi, both divided by the same.
struct Improvement {
  double log = 0, by_mean = 0, by_deviation = 0;
};
Improvement improvement_of(double z) {
  const double log_density = -0.5 * z * z - 0.91893853320467274;
  if (z < -25) return {log_density - 2 * std::log(-z), -z, z * z};  // the first term of its asymptotic series
  const double density = std::exp(log_density), share = normal_share(z);
  const double h = std::max(z * share + density, 1e-300);
  return {std::log(h), share / h, density / h};
}

class Acquisition {
 public:
  Acquisition(const Space& space, const Encoder& encoder, const GaussianProcess& process, double incumbent)
      : space_(space), encoder_(encoder), process_(process), incumbent_(incumbent) {}

  std::vector<double> of(const std::vector<Point>& points) const {
    std::vector<std::vector<double>> inputs;
    for (const Point& point : points) inputs.push_back(encoder_(point));
    std::vector<double> scores;
    for (const Prediction& one : process_.predict(inputs))
      scores.push_back(improvement_of((incumbent_ - one.mean) / one.deviation).log + std::log(one.deviation));
    return scores;
  }

  // The best point near this one, by its continuous parameters.
  Point climbed(const Point& from) const {
    std::vector<size_t> moving;
    for (const size_t i : encoder_.continuous()) {
      if (!std::isnan(from[i])) moving.push_back(i);
    }
    if (moving.empty()) return from;
    std::vector<double> inputs = encoder_(from), start;
    for (const size_t i : moving) start.push_back(from[i]);
    const auto loss = [&](const std::vector<double>& x, std::vector<double>& gradient) {
      for (size_t k = 0; k < x.size(); ++k) inputs[encoder_.input_of(moving[k])] = x[k];
      const Prediction at = process_.predict_with_gradient(inputs);
      const Improvement found = improvement_of((incumbent_ - at.mean) / at.deviation);
      for (size_t k = 0; k < x.size(); ++k) {
        const size_t input = encoder_.input_of(moving[k]);
        gradient[k] =
            (found.by_mean * at.mean_gradient[input] - found.by_deviation * at.deviation_gradient[input]) /
            at.deviation;
      }
      return -(found.log + std::log(at.deviation));
    };
    Box box;
    for (const size_t i : moving) {
      box.low.push_back(space_.reach(i).low);
      box.high.push_back(space_.reach(i).high);
    }
    const Minimum top = minimise(loss, start, box, 40);
    Point point = from;
    for (size_t k = 0; k < moving.size(); ++k) point[moving[k]] = top.x[k];
    space_.snap(point);
    return point;
  }

 private:
  const Space& space_;
  const Encoder& encoder_;
  const GaussianProcess& process_;
  double incumbent_;
};

// A step away from a point: some of its parameters, by a part of their ranges.
Point neighbour(const Space& space, const Point& point, Random& random) {
  static constexpr std::array<double, 4> kSizes = {0.3, 0.1, 0.03, 0.005};
  Point moved = point;
  const double size = kSizes[random.below(kSizes.size())];
  const double part = std::max(0.3, 2.0 / static_cast<double>(space.size()));
  for (size_t i = 0; i < space.size(); ++i) {
    if (random.uniform() >= part || std::isnan(moved[i])) continue;
    if (space.parameters()[i].is_category())
      moved[i] = static_cast<double>(random.below(space.parameters()[i].values.size()));
    else
      moved[i] += size * random.normal();
  }
  // What applies now and did not before is anywhere.
  for (size_t i = 0; i < space.size(); ++i) {
    if (!std::isnan(moved[i])) continue;
    const double share = random.uniform();
    moved[i] = space.parameters()[i].is_category() ? static_cast<double>(space.category(i, share)) : share;
  }
  space.snap(moved);
  return moved;
}

// What the process is made from: the best, the newest, and others at random.
std::vector<size_t> chosen(const std::vector<double>& values, size_t most, Random& random) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (order.size() <= most) return order;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  for (size_t i = most / 2; i < most; ++i) std::swap(order[i], order[i + random.below(order.size() - i)]);
  order.resize(most);
  return order;
}

template <typename T>
std::vector<T> picked(const std::vector<T>& all, const std::vector<size_t>& which) {
  std::vector<T> some;
  for (const size_t i : which) some.push_back(all[i]);
  return some;
}

// Candidates, the best of which are climbed from.
std::vector<Point> candidates(const Space& space, const std::vector<const Point*>& good, size_t count,
                              Random& random) {
  std::vector<Point> points;
  for (size_t i = 0; i < count / 2; ++i) points.push_back(space.random(random));
  for (size_t i = 0; i < count / 2; ++i)
    points.push_back(neighbour(space, *good[random.below(good.size())], random));
  // The tails that a thousand draws have are farther out than those of one.
  for (Point& point : points) space.hold(point);
  return points;
}

class Model {
 public:
  Model(const Space& space, const std::vector<Observation>& history, Random& random)
      : space_(space), encoder_(space), process_(encoder_.groups()) {
    std::vector<double> values;
    for (const Observation& one : history) {
      if (std::isfinite(one.value)) {
        known_.push_back(&one.point);
        values.push_back(one.value);
      } else {
        running_.push_back(&one.point);
      }
    }
    values_ = made_normal(values);
    for (const Point* point : known_) inputs_.push_back(encoder_(*point));
    const auto few = chosen(values_, kMostFitted, random);
    Hyperparameters start;
    for (size_t i = 0; i < 1 + *std::max_element(encoder_.groups().begin(), encoder_.groups().end()); ++i)
      start.push_back(std::log(0.1 + random.uniform()));
    start.insert(start.end(), {0.0, std::log(1e-2)});
    // With many points the prior is far enough: a second start would cost as much again.
    std::vector<Hyperparameters> starts;
    if (known_.size() <= kMostFitted) starts.push_back(start);
    hyperparameters_ = process_.fit(picked(inputs_, few), picked(values_, few), starts, kFitIterations);
    const auto many = chosen(values_, kMostKnown, random);
    auto inputs = picked(inputs_, many);
    auto values_known = picked(values_, many);
    process_.condition(inputs, values_known, hyperparameters_);
    incumbent_ = std::numeric_limits<double>::infinity();
    for (const Prediction& one : process_.predict(inputs)) incumbent_ = std::min(incumbent_, one.mean);
    lie(std::move(inputs), std::move(values_known));
  }

  Point best(Random& random) const {
    const Acquisition acquisition(space_, encoder_, process_, incumbent_);
    std::vector<size_t> order(values_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values_[a] < values_[b]; });
    order.resize(std::min<size_t>(order.size(), 5));
    std::vector<Point> points =
        candidates(space_, picked(known_, order), known_.size() > 150 ? 600 : 2000, random);
    const std::vector<double> scores = acquisition.of(points);
    std::vector<size_t> top(points.size());
    std::iota(top.begin(), top.end(), size_t{0});
    std::stable_sort(top.begin(), top.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    std::vector<Point> climbed;
    for (size_t i = 0; i < std::min(kClimbs, top.size()); ++i)
      climbed.push_back(acquisition.climbed(points[top[i]]));
    // Those that are new come first: the value of a point that is known is known.
    climbed.insert(climbed.end(), points.begin(), points.end());
    const std::vector<double> final_scores = acquisition.of(climbed);
    const Point* found = nullptr;
    double best_score = -std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < climbed.size(); ++i) {
      if (!(final_scores[i] > best_score) || seen(climbed[i])) continue;
      found = &climbed[i];
      best_score = final_scores[i];
    }
    return found == nullptr ? climbed[0] : *found;
  }

 private:
  // What runs has the value that is expected of it.
  void lie(std::vector<std::vector<double>> inputs, std::vector<double> values) {
    if (running_.empty()) return;
    std::vector<std::vector<double>> more;
    for (size_t i = running_.size() - std::min<size_t>(running_.size(), 100); i < running_.size(); ++i)
      more.push_back(encoder_(*running_[i]));
    for (const Prediction& one : process_.predict(more)) values.push_back(one.mean);
    inputs.insert(inputs.end(), more.begin(), more.end());
    process_.condition(inputs, values, hyperparameters_);
  }
  bool seen(const Point& point) const {
    const auto is_same = [&](const Point* other) { return same(*other, point); };
    return std::any_of(known_.begin(), known_.end(), is_same) ||
           std::any_of(running_.begin(), running_.end(), is_same);
  }

  const Space& space_;
  const Encoder encoder_;
  GaussianProcess process_;
  std::vector<const Point*> known_, running_;
  std::vector<double> values_;
  std::vector<std::vector<double>> inputs_;
  Hyperparameters hyperparameters_;
  double incumbent_ = 0;
};

}  // namespace

Point bayes_point(const Space& space, const std::vector<Observation>& history, Random& random) {
  bool choice = false;
  for (size_t i = 0; i < space.size(); ++i) choice = choice || space.count(i) != 1;
  if (!choice) return space.random(random);
  const Model model(space, history, random);
  return model.best(random);
}

}  // namespace minke::search
