// Boost.Math, whose headers take long to compile, is seen by this source alone.
#include "search/quantiles.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>

namespace minke::search {

namespace {

// Errors give numbers and no exceptions: what the caller passes is bounded before.
using Quiet = boost::math::policies::policy<
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::pole_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>,
    boost::math::policies::promote_double<false>>;

}  // namespace

double normal_quantile(double share) {
  const double inside = std::clamp(share, 1e-300, 1 - 0x1p-53);
  return -std::numbers::sqrt2 * boost::math::erfc_inv(2 * inside, Quiet());
}

double normal_share(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

double beta_quantile(double a, double b, double share) {
  // Halving the interval: Boost's own inverse throws for some shapes, whatever its policy says.
  double low = 0, high = 1;
  for (int i = 0; i < 80 && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    (beta_share(a, b, middle) < share ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

double beta_share(double a, double b, double x) {
  return boost::math::ibeta(a, b, std::clamp(x, 0.0, 1.0), Quiet());
}

}  // namespace minke::search
