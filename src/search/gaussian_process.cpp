// The only source that sees Eigen, whose templates take long to compile.
#include "search/gaussian_process.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/result.h"
#include "search/minimise.h"

namespace minke::search {

namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using Points = std::vector<std::vector<double>>;

constexpr double kJitter = 1e-8;  // of the amplitude

Matrix matrix_of(const Points& points, size_t inputs) {
  Matrix x(static_cast<Eigen::Index>(points.size()), static_cast<Eigen::Index>(inputs));
  for (size_t i = 0; i < points.size(); ++i)
    for (size_t j = 0; j < inputs; ++j)
      x(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = points[i][j];
  return x;
}

// (1 + a + a² / 3) e^-a, for a = sqrt(5) r.
Matrix matern(const Matrix& squared) {
  const auto a = (5 * squared.array()).sqrt();
  return ((1 + a + a * a / 3) * (-a).exp()).matrix();
}

// The squared distances between rows, each input divided by its length.
Matrix squared_distances(const Matrix& a, const Matrix& b, const Vector& lengths) {
  const Matrix p = a * lengths.cwiseInverse().asDiagonal(), q = b * lengths.cwiseInverse().asDiagonal();
  Matrix squared = -2 * p * q.transpose();
  squared.colwise() += p.rowwise().squaredNorm();
  squared.rowwise() += q.rowwise().squaredNorm().transpose();
  return squared.cwiseMax(0);
}

double log_density(double x, double mean, double deviation) {
  return -0.5 * (x - mean) * (x - mean) / (deviation * deviation);
}

}  // namespace

struct GaussianProcess::State {
  std::vector<size_t> group;
  size_t groups = 0;
  Matrix x;
  Vector lengths;  // of each input
  double amplitude = 1, noise = 0;
  Eigen::LLT<Matrix> root;
  Vector weights;  // K^-1 y

  double length_mean() const {
    return std::numbers::sqrt2 / 2 + 0.5 * std::log(static_cast<double>(std::max<size_t>(1, groups))) - 1.6;
  }
  static constexpr double kLengthDeviation = 1.2, kAmplitudeDeviation = 1.0, kNoiseMean = -11.0,
                          kNoiseDeviation = 3.0;

  Vector lengths_of(const Hyperparameters& h) const {
    Vector all(static_cast<Eigen::Index>(group.size()));
    for (size_t i = 0; i < group.size(); ++i) all(static_cast<Eigen::Index>(i)) = std::exp(h[group[i]]);
    return all;
  }
  double loss(const Matrix& inputs, const Vector& y, const std::vector<Matrix>& apart,
              const Hyperparameters& h, std::vector<double>& gradient) const;
};

// Minus the logarithm of the posterior density, up to a constant. `apart[g]` has the squared distances in
// group g.
double GaussianProcess::State::loss(const Matrix& inputs, const Vector& y, const std::vector<Matrix>& apart,
                                    const Hyperparameters& h, std::vector<double>& gradient) const {
  const Eigen::Index n = inputs.rows();
  Matrix squared = Matrix::Zero(n, n);
  for (size_t g = 0; g < groups; ++g) squared += apart[g] * std::exp(-2 * h[g]);
  const double variance = std::exp(h[groups]), noise_variance = std::exp(h[groups + 1]);
  const Matrix kernel = variance * matern(squared);
  Matrix k = kernel;
  k.diagonal().array() += noise_variance + kJitter * variance;
  const Eigen::LLT<Matrix> cholesky(k);
  if (cholesky.info() != Eigen::Success) return std::numeric_limits<double>::infinity();
  const Vector alpha = cholesky.solve(y);
  double value = 0.5 * y.dot(alpha) + cholesky.matrixLLT().diagonal().array().log().sum();
  const Matrix inverse = cholesky.solve(Matrix::Identity(n, n));
  const Matrix outer = inverse - alpha * alpha.transpose();  // twice the derivative by K
  // dk/d(log length of g) = variance * 5/3 (1 + a) e^-a * (squared distance in g) / length².
  const auto a = (5 * squared.array()).sqrt();
  const Matrix slope = (outer.array() * (variance * 5.0 / 3) * (1 + a) * (-a).exp()).matrix();
  for (size_t g = 0; g < groups; ++g)
    gradient[g] = 0.5 * slope.cwiseProduct(apart[g]).sum() * std::exp(-2 * h[g]);
  gradient[groups] = 0.5 * (outer.cwiseProduct(kernel).sum() + kJitter * variance * outer.diagonal().sum());
  gradient[groups + 1] = 0.5 * noise_variance * outer.diagonal().sum();
  const auto prior = [&](size_t i, double mean, double deviation) {
    value -= log_density(h[i], mean, deviation);
    gradient[i] += (h[i] - mean) / (deviation * deviation);
  };
  for (size_t g = 0; g < groups; ++g) prior(g, length_mean(), kLengthDeviation);
  prior(groups, 0, kAmplitudeDeviation);
  prior(groups + 1, kNoiseMean, kNoiseDeviation);
  return value;
}

GaussianProcess::GaussianProcess(std::vector<size_t> group) : state_(std::make_unique<State>()) {
  state_->group = std::move(group);
  for (const size_t one : state_->group) state_->groups = std::max(state_->groups, one + 1);
}
GaussianProcess::~GaussianProcess() = default;

Hyperparameters GaussianProcess::fit(const Points& inputs, const std::vector<double>& values,
                                     const std::vector<Hyperparameters>& starts, int iterations) {
  State& state = *state_;
  const Matrix x = matrix_of(inputs, state.group.size());
  const Vector y = Eigen::Map<const Vector>(values.data(), static_cast<Eigen::Index>(values.size()));
  std::vector<Matrix> apart(state.groups, Matrix::Zero(x.rows(), x.rows()));
  for (size_t i = 0; i < state.group.size(); ++i) {
    const Matrix column = x.col(static_cast<Eigen::Index>(i));
    apart[state.group[i]] += squared_distances(column, column, Vector::Ones(1));
  }
  const auto loss = [&](const std::vector<double>& h, std::vector<double>& gradient) {
    return state.loss(x, y, apart, h, gradient);
  };
  Box box;
  box.low.assign(state.groups, std::log(0.005));
  box.high.assign(state.groups, std::log(50.0));
  box.low.insert(box.low.end(), {std::log(0.02), std::log(1e-6)});
  box.high.insert(box.high.end(), {std::log(50.0), std::log(1.0)});
  Hyperparameters first(state.groups, state.length_mean());
  first.insert(first.end(), {0.0, std::log(1e-3)});
  Minimum best = minimise(loss, first, box, iterations);
  for (const Hyperparameters& start : starts) {
    if (start.size() != first.size()) continue;
    if (Minimum other = minimise(loss, start, box, iterations); other.value < best.value)
      best = std::move(other);
  }
  return best.x;
}

void GaussianProcess::condition(const Points& inputs, const std::vector<double>& values,
                                const Hyperparameters& h) {
  State& state = *state_;
  state.x = matrix_of(inputs, state.group.size());
  state.lengths = state.lengths_of(h);
  state.amplitude = std::exp(h[state.groups]);
  state.noise = std::exp(h[state.groups + 1]);
  const Vector y = Eigen::Map<const Vector>(values.data(), static_cast<Eigen::Index>(values.size()));
  const Matrix kernel = state.amplitude * matern(squared_distances(state.x, state.x, state.lengths));
  for (double jitter = kJitter; jitter < 1; jitter *= 100) {
    Matrix k = kernel;
    k.diagonal().array() += state.noise + jitter * state.amplitude;
    state.root.compute(k);
    if (state.root.info() == Eigen::Success) break;
  }
  MINKE_CHECK(state.root.info() == Eigen::Success);
  state.weights = state.root.solve(y);
}

std::vector<Prediction> GaussianProcess::predict(const Points& inputs) const {
  const State& state = *state_;
  const Matrix k = state.amplitude *
                   matern(squared_distances(state.x, matrix_of(inputs, state.group.size()), state.lengths));
  const Vector means = k.transpose() * state.weights;
  const Matrix half = state.root.matrixL().solve(k);
  const Vector explained = half.colwise().squaredNorm();
  std::vector<Prediction> predictions(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    predictions[i].mean = means(at);
    predictions[i].deviation = std::sqrt(std::max(state.amplitude - explained(at), 1e-12 * state.amplitude));
  }
  return predictions;
}

Prediction GaussianProcess::predict_with_gradient(const std::vector<double>& input) const {
  const State& state = *state_;
  const Matrix point = matrix_of({input}, state.group.size());
  const Matrix squared = squared_distances(state.x, point, state.lengths);
  const Vector a = (5 * squared.col(0).array()).sqrt();
  const Vector k = state.amplitude * matern(squared).col(0);
  // dk/dx_j = -amplitude * 5/3 (1 + a) e^-a * (x_j - x_ij) / length_j²
  const Vector slope = (-state.amplitude * 5 / 3 * (1 + a.array()) * (-a.array()).exp()).matrix();
  const Vector solved = state.root.solve(k);
  Prediction prediction;
  prediction.mean = k.dot(state.weights);
  prediction.deviation = std::sqrt(std::max(state.amplitude - k.dot(solved), 1e-12 * state.amplitude));
  prediction.mean_gradient.resize(input.size());
  prediction.deviation_gradient.resize(input.size());
  for (size_t j = 0; j < input.size(); ++j) {
    const auto at = static_cast<Eigen::Index>(j);
    const Vector dk =
        (slope.array() * (input[j] - state.x.col(at).array())).matrix() / std::pow(state.lengths(at), 2);
    prediction.mean_gradient[j] = dk.dot(state.weights);
    prediction.deviation_gradient[j] = -dk.dot(solved) / prediction.deviation;
  }
  return prediction;
}

}  // namespace minke::search
