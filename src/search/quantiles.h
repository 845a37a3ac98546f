// Quantiles and distribution functions of the priors that hyperparameters may have. Pure; any thread.
#pragma once

namespace minke::search {

// The normal distribution. `share` is in (0, 1).
double normal_quantile(double share);
double normal_share(double z);
// The beta distribution; a and b are between 0.01 and 10,000, `share` and `x` in [0, 1].
double beta_quantile(double a, double b, double share);
double beta_share(double a, double b, double x);

}  // namespace minke::search
