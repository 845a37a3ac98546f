// A Gaussian process: what is known of a function from some of its values, with noise.
//
// The kernel is Matern's with nu = 5/2 and a length for each group of inputs (Rasmussen and Williams,
// Gaussian Processes for Machine Learning, 2006, chapters 2, 4 and 5). Lengths, amplitude and noise are those
// of the largest posterior density. The prior of lengths grows with the square root of the number of groups
// (Hvarfner et al., Vanilla Bayesian Optimization Performs Great in High Dimensions, 2024). Pure; one thread
// at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace minke::search {

struct Prediction {
  double mean = 0;
  double deviation = 0;  // of the function, without noise; more than 0
  // By each input; only of predict_with_gradient().
  std::vector<double> mean_gradient, deviation_gradient;
};

// Lengths, amplitude and noise, as logarithms.
using Hyperparameters = std::vector<double>;

class GaussianProcess {
 public:
  // `group[i]` is the group of input i, from 0, without gaps.
  explicit GaussianProcess(std::vector<size_t> group);
  ~GaussianProcess();

  // Finds the hyperparameters from `starts`, and those of the prior. Values should have mean 0 and
  // variance 1.
  Hyperparameters fit(const std::vector<std::vector<double>>& inputs, const std::vector<double>& values,
                      const std::vector<Hyperparameters>& starts, int iterations);
  // Takes these points as what is known. One point at least.
  void condition(const std::vector<std::vector<double>>& inputs, const std::vector<double>& values,
                 const Hyperparameters& hyperparameters);
  // What is known now says of these points; many at once cost less. After condition().
  std::vector<Prediction> predict(const std::vector<std::vector<double>>& inputs) const;
  Prediction predict_with_gradient(const std::vector<double>& input) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace minke::search
