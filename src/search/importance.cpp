#include "search/importance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace minke::search {

namespace {

constexpr size_t kTrees = 64;
constexpr size_t kLeast = 4;  // trials
constexpr size_t kLeaf = 2;   // trials of a leaf
constexpr size_t kMostTrials = 2000;
constexpr int kMostDepth = 24;

struct Split {
  size_t parameter = 0;
  double at = 0, gain = 0;
  bool is_equal = false;  // of a category: this value against the others
};

class Forest {
 public:
  Forest(const Space& space, const std::vector<const Observation*>& trials)
      : space_(space), trials_(trials), gains_(space.size()) {}

  void grow(std::vector<size_t> rows, Random& random, int depth) {
    if (rows.size() < 2 * kLeaf || depth > kMostDepth) return;
    Split best;
    // Two thirds of the parameters, so that one that matters does not hide the others.
    const size_t tries = std::max<size_t>(1, (2 * space_.size() + 2) / 3);
    for (size_t i = 0; i < tries; ++i) {
      const Split split = best_split(random.below(space_.size()), rows);
      if (split.gain > best.gain) best = split;
    }
    if (!(best.gain > 1e-15)) {
      for (size_t i = 0; i < space_.size(); ++i) {
        const Split split = best_split(i, rows);
        if (split.gain > best.gain) best = split;
      }
    }
    if (!(best.gain > 1e-15)) return;
    gains_[best.parameter] += best.gain;
    std::vector<size_t> left, right;
    for (const size_t row : rows) (is_left(best, row) ? left : right).push_back(row);
    grow(std::move(left), random, depth + 1);
    grow(std::move(right), random, depth + 1);
  }
  const std::vector<double>& gains() const { return gains_; }

 private:
  double at(size_t row, size_t parameter) const {
    const double here = trials_[row]->point[parameter];
    return std::isnan(here) ? -1 : here;
  }
  bool is_left(const Split& split, size_t row) const {
    const double here = at(row, split.parameter);
    return split.is_equal ? here == split.at : here <= split.at;
  }
  // The sum of squares that it takes away.
  Split best_split(size_t parameter, std::vector<size_t> rows) const {
    Split best{parameter, 0, 0, space_.parameters()[parameter].is_category()};
    std::sort(rows.begin(), rows.end(),
              [&](size_t a, size_t b) { return at(a, parameter) < at(b, parameter); });
    const double count = static_cast<double>(rows.size());
    double all = 0;
    for (const size_t row : rows) all += trials_[row]->value;
    double sum = 0, n = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (best.is_equal && i > 0 && at(rows[i], parameter) != at(rows[i - 1], parameter)) sum = n = 0;
      sum += trials_[rows[i]]->value;
      ++n;
      const bool last = i + 1 == rows.size();
      if (!last && at(rows[i + 1], parameter) == at(rows[i], parameter)) continue;
      if (n < static_cast<double>(kLeaf) || count - n < static_cast<double>(kLeaf)) continue;
      const double gain = sum * sum / n + (all - sum) * (all - sum) / (count - n) - all * all / count;
      if (gain <= best.gain) continue;
      best.gain = gain;
      best.at = at(rows[i], parameter);
    }
    return best;
  }

  const Space& space_;
  const std::vector<const Observation*>& trials_;
  std::vector<double> gains_;
};

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i + 1;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (size_t k = i; k < end; ++k) out[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return out;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 3) return 0;
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

}  // namespace

std::vector<Importance> importances(const Space& space, const std::vector<Observation>& history,
                                    uint64_t seed) {
  std::vector<const Observation*> trials;
  for (const Observation& one : history) {
    if (std::isfinite(one.value) && trials.size() < kMostTrials) trials.push_back(&one);
  }
  if (trials.size() < kLeast) return {};
  Forest forest(space, trials);
  Random random(seed, 0x1f);
  for (size_t tree = 0; tree < kTrees; ++tree) {
    std::vector<size_t> rows;
    for (size_t i = 0; i < trials.size(); ++i) rows.push_back(random.below(trials.size()));
    forest.grow(std::move(rows), random, 0);
  }
  const double sum = std::accumulate(forest.gains().begin(), forest.gains().end(), 0.0);
  std::vector<Importance> found;
  for (size_t i = 0; i < space.size(); ++i) {
    std::vector<double> numbers, values;
    for (const Observation* one : trials) {
      if (space.parameters()[i].is_category() || std::isnan(one->point[i])) continue;
      numbers.push_back(one->point[i]);
      values.push_back(one->value);
    }
    found.push_back({i, sum > 0 ? forest.gains()[i] / sum : 0, correlation(numbers, values)});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.share > b.share; });
  return found;
}

}  // namespace minke::search
