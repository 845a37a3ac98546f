// The space of a search: its parameters, each with the distribution that its values are drawn from.
//
// A point has one coordinate for each parameter. Numbers are at their share of the distribution, in [0, 1]:
// samplers see every parameter alike, and a random point is a uniform one. Categories are at their index. The
// coordinate of a parameter that does not apply (its condition is not met) is NaN. A valid point is snapped:
// each coordinate is that of a value which the parameter can have. Distributions and their names are those of
// W&B's sweep files. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "search/random.h"
#include "search/value.h"

namespace minke::search {

enum class Distribution {
  kConstant,
  kCategorical,
  kIntUniform,
  kUniform,
  kLogUniform,  // between low and high, which are positive
  kNormal,
  kLogNormal,  // mu and sigma are those of the logarithm
  kBeta,       // a is in mu, b in sigma
};

// A parameter applies only if another one, which stands before it, has one of these values.
struct Condition {
  size_t parameter = 0;
  std::vector<size_t> categories;  // indices into the values of that one
};

struct Parameter {
  std::string name;               // a nested one has dots: "optimizer.lr"
  std::vector<std::string> path;  // its parts
  Distribution distribution = Distribution::kConstant;
  double low = 0, high = 1;  // of uniform and log-uniform ones
  double mu = 0, sigma = 1;
  double step = 0;                    // values are multiples of it (the q of q_uniform); 0: continuous
  bool whole = false;                 // values are integers
  std::vector<Value> values;          // of categories; of a constant, one
  std::vector<double> shares;         // of categories; empty: equal
  std::vector<Condition> conditions;  // all must be met
  uint32_t line = 0;                  // in the sweep file; 0: none

  bool is_category() const {
    return distribution == Distribution::kCategorical || distribution == Distribution::kConstant;
  }
};

using Point = std::vector<double>;

class Space {
 public:
  static constexpr size_t kMaxParameters = 500;
  static constexpr size_t kMaxValues = 10000;  // of one category

  // Fails if a parameter cannot be drawn from: bounds in the wrong order, no values … The message names it.
  Status add(Parameter parameter);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  size_t size() const { return parameters_.size(); }
  bool empty() const { return parameters_.empty(); }

  // Moves each coordinate to the next value that can be, and sets those that do not apply to NaN; a missing
  // one that applies becomes its middle.
  void snap(Point& point) const;
  bool applies(size_t parameter, const Point& point) const;
  Point random(Random& random) const;
  // The value at a coordinate that is not NaN.
  Value value(size_t parameter, double coordinate) const;
  // The coordinate of a value; NaN if the parameter cannot have it.
  double coordinate(size_t parameter, const Value& value) const;
  // The shares that a search may go to by steps of its own. All of them, but of a distribution without an end
  // (normal, log_normal) those between its quantiles 0.001 and 0.999: a share of 1 would be eight deviations
  // away, where no random draw ever is.
  struct Reach {
    double low, high;
  };
  Reach reach(size_t parameter) const;
  // Moves each number of a valid point into its reach.
  void hold(Point& point) const;
  // The index of a category for a share of [0, 1).
  size_t category(size_t parameter, double share) const;
  // {"lr": 0.1, "optimizer": {"name": "adam"}}: parameters that apply, nested as in the sweep file.
  std::string json(const Point& point) const;
  // Whether every parameter has finitely many values; `count` is how many of them: of one that is not, 0.
  size_t count(size_t parameter) const;

 private:
  double number(const Parameter& parameter, double share) const;
  double share(const Parameter& parameter, double number) const;
  std::vector<Parameter> parameters_;
};

bool same(const Point& a, const Point& b);

}  // namespace minke::search
