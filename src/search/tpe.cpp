// A tree-structured Parzen estimator: points where good trials are dense and others are not.
//
// J. Bergstra et al., Algorithms for Hyper-Parameter Optimization, 2011; of all parameters together (S.
// Falkner et al., BOHB, 2018): each trial is the middle of a kernel, the product of one for each parameter,
// beside one that is the prior.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "search/quantiles.h"
#include "search/sampler.h"

namespace minke::search {

namespace {

constexpr size_t kCandidates = 64;
constexpr size_t kMostGood = 25;
constexpr size_t kMostKernels = 400;  // of the newest

class Density {
 public:
  Density(const Space& space, std::vector<const Point*> middles)
      : space_(space), middles_(std::move(middles)) {
    if (middles_.size() > kMostKernels) middles_.erase(middles_.begin(), middles_.end() - kMostKernels);
    const double count = static_cast<double>(std::max<size_t>(1, middles_.size()));
    const double dimensions = static_cast<double>(space.size());
    const double scott = std::pow(count, -1 / (dimensions + 4));
    widths_.resize(space.size(), 0.5);
    for (size_t i = 0; i < space.size(); ++i) {
      if (space.parameters()[i].is_category())
        widths_[i] = 1 / (1 + count / static_cast<double>(space.parameters()[i].values.size()));
      else
        widths_[i] = std::clamp(spread(i) * scott, std::max(0.01, 0.3 / std::min(100.0, count)), 0.5);
    }
  }

  double log_at(const Point& point) const {
    std::vector<double> logs = {0};  // of the prior
    for (const Point* middle : middles_) {
      double log = 0;
      for (size_t i = 0; i < point.size(); ++i) log += log_kernel(i, (*middle)[i], point[i]);
      logs.push_back(log);
    }
    const double largest = *std::max_element(logs.begin(), logs.end());
    double sum = 0;
    for (const double log : logs) sum += std::exp(log - largest);
    return largest + std::log(sum / static_cast<double>(logs.size()));
  }

  Point draw(Random& random) const {
    const size_t which = random.below(middles_.size() + 1);
    Point point = space_.random(random);
    if (which == middles_.size()) {
      space_.hold(point);
      return point;
    }
    for (size_t i = 0; i < point.size(); ++i) {
      const double middle = (*middles_[which])[i];
      if (std::isnan(middle)) {
        // The kernel says nothing of it.
      } else if (space_.parameters()[i].is_category()) {
        if (random.uniform() >= widths_[i]) point[i] = middle;
      } else {
        const double low = normal_share(-middle / widths_[i]), high = normal_share((1 - middle) / widths_[i]);
        point[i] = middle + widths_[i] * normal_quantile(low + random.uniform() * (high - low));
      }
    }
    space_.snap(point);
    space_.hold(point);
    return point;
  }

 private:
  double spread(size_t i) const {
    double sum = 0, squares = 0, count = 0;
    for (const Point* middle : middles_) {
      if (std::isnan((*middle)[i])) continue;
      sum += (*middle)[i];
      squares += (*middle)[i] * (*middle)[i];
      ++count;
    }
    if (count < 2) return 0.5;
    return std::sqrt(std::max(0.0, squares / count - sum * sum / count / count));
  }

  // The kernel's density beside the prior's. The prior of a category is its share.
  double log_kernel(size_t i, double middle, double at) const {
    if (std::isnan(middle) || std::isnan(at)) return 0;
    const double width = widths_[i];
    const Parameter& parameter = space_.parameters()[i];
    if (parameter.is_category()) {
      const double share = parameter.shares.empty() ? 1 / static_cast<double>(parameter.values.size())
                                                    : parameter.shares[static_cast<size_t>(at)];
      if (share <= 0) return 0;
      return std::log((1 - width) * (middle == at ? 1 : 0) / share + width);
    }
    const double inside = normal_share((1 - middle) / width) - normal_share(-middle / width);
    const double z = (at - middle) / width;
    return -0.5 * z * z - std::log(width * 2.5066282746310002 * std::max(inside, 1e-12));
  }

  const Space& space_;
  std::vector<const Point*> middles_;
  std::vector<double> widths_;  // of a category: the share of the prior
};

}  // namespace

Point tpe_point(const Space& space, const std::vector<Observation>& history, Random& random) {
  std::vector<const Observation*> known;
  std::vector<const Point*> good, others;
  for (const Observation& one : history) {
    if (std::isfinite(one.value)) known.push_back(&one);
  }
  std::stable_sort(known.begin(), known.end(),
                   [](const auto* a, const auto* b) { return a->value < b->value; });
  const size_t part = std::min(kMostGood, std::max<size_t>(2, (known.size() + 9) / 10));
  for (size_t i = 0; i < known.size(); ++i) (i < part ? good : others).push_back(&known[i]->point);
  // Those that run count as not good, so that their places are not chosen again.
  for (const Observation& one : history) {
    if (!std::isfinite(one.value)) others.push_back(&one.point);
  }
  const Density near(space, good), far(space, others);
  Point best;
  double best_score = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < kCandidates; ++i) {
    Point candidate = near.draw(random);
    const double score = near.log_at(candidate) - far.log_at(candidate);
    if (!best.empty() && !(score > best_score)) continue;
    best = std::move(candidate);
    best_score = score;
  }
  return best;
}

}  // namespace minke::search
