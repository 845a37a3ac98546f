#include "search/minimise.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace minke::search {

namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Vector projected(Vector x, const Box& box) {
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::clamp(x[i], box.low[i], box.high[i]);
  return x;
}

// An approximation of the inverse of the matrix of second derivatives.
class InverseHessian {
 public:
  explicit InverseHessian(size_t size) : size_(size), rows_(size * size) { reset(); }
  void reset() {
    std::fill(rows_.begin(), rows_.end(), 0.0);
    for (size_t i = 0; i < size_; ++i) rows_[i * size_ + i] = 1;
  }
  Vector times(const Vector& v) const {
    Vector out(size_);
    for (size_t i = 0; i < size_; ++i)
      for (size_t j = 0; j < size_; ++j) out[i] += rows_[i * size_ + j] * v[j];
    return out;
  }
  // After a step `s` that changed the gradient by `y`.
  void learn(const Vector& s, const Vector& y) {
    const double sy = dot(s, y);
    if (sy < 1e-12) return;
    const Vector hy = times(y);
    const double factor = (1 + dot(y, hy) / sy) / sy;
    for (size_t i = 0; i < size_; ++i)
      for (size_t j = 0; j < size_; ++j)
        rows_[i * size_ + j] += factor * s[i] * s[j] - (hy[i] * s[j] + s[i] * hy[j]) / sy;
  }

 private:
  size_t size_;
  Vector rows_;
};

// The gradient without what pushes out of the box.
Vector free_part(const Vector& x, Vector gradient, const Box& box) {
  for (size_t i = 0; i < x.size(); ++i) {
    if ((x[i] <= box.low[i] && gradient[i] > 0) || (x[i] >= box.high[i] && gradient[i] < 0)) gradient[i] = 0;
  }
  return gradient;
}

}  // namespace

Minimum minimise(const Smooth& function, std::vector<double> start, const Box& box, int iterations) {
  Vector x = projected(std::move(start), box), gradient(x.size());
  double value = function(x, gradient);
  InverseHessian hessian(x.size());
  int calls = 4 * iterations - 1;
  bool fresh = true;
  for (int i = 0; i < iterations && calls > 0; ++i) {
    const Vector downhill = free_part(x, gradient, box);
    if (!std::isfinite(value) || dot(downhill, downhill) < 1e-14) break;
    Vector direction = hessian.times(downhill);
    for (size_t k = 0; k < x.size(); ++k) direction[k] = downhill[k] == 0 ? 0 : -direction[k];
    if (dot(direction, downhill) >= 0) {
      hessian.reset();
      fresh = true;
      for (size_t k = 0; k < x.size(); ++k) direction[k] = -downhill[k];
    }
    double length = fresh ? std::min(1.0, 0.3 / std::sqrt(dot(direction, direction))) : 1;
    Vector next, next_gradient(x.size());
    double next_value = value;
    bool better = false;
    for (; calls > 0 && length > 1e-10; length *= 0.3) {
      next = x;
      for (size_t k = 0; k < x.size(); ++k) next[k] += length * direction[k];
      next = projected(std::move(next), box);
      next_value = function(next, next_gradient);
      --calls;
      Vector step(x.size());
      for (size_t k = 0; k < x.size(); ++k) step[k] = next[k] - x[k];
      better = std::isfinite(next_value) && next_value < value + 1e-4 * std::min(0.0, dot(gradient, step));
      if (!better) continue;
      Vector change(x.size());
      for (size_t k = 0; k < x.size(); ++k) change[k] = next_gradient[k] - gradient[k];
      hessian.learn(step, change);
      break;
    }
    if (!better) {
      if (fresh) break;
      hessian.reset();
      fresh = true;
      continue;
    }
    fresh = false;
    const double gained = value - next_value;
    x = next;
    gradient = next_gradient;
    value = next_value;
    if (gained < 1e-9 * (1 + std::abs(value))) break;
  }
  return {x, value};
}

}  // namespace minke::search
