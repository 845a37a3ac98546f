// Chooses the point of the next trial from what is known of earlier ones. Every method is a function of its
// arguments alone: the same history and seed give the same point. Pure; any thread.
//
// Values are minimised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "search/space.h"

namespace minke::search {

enum class Method { kGrid, kRandom, kSobol, kHalton, kTpe, kBayes };

// grid, random, sobol, halton, tpe, bayes.
std::optional<Method> method_of(std::string_view name);
std::string_view method_name(Method method);

struct Observation {
  Point point;
  // Not finite: the trial has no value yet. It runs, and the point should not be chosen again.
  double value = 0;
};

struct Sampler {
  Method method = Method::kRandom;
  uint64_t seed = 0;
  // Trials before a model is asked (TPE, Bayes); 0: by the number of parameters.
  size_t first_trials = 0;
};

// `number` is that of the trial, from 0. Returns nothing if a grid has no more points: `history` must be
// whole then, and in order.
std::optional<Point> suggest(const Space& space, const Sampler& sampler,
                             const std::vector<Observation>& history, uint64_t number);

// How many points the grid has; 0: infinitely many, or more than 1e15. Conditions are not considered: there
// may be less.
double grid_size(const Space& space);

// The methods behind it.
std::optional<Point> next_grid_point(const Space& space, const Point* previous);
Point spread_point(const Space& space, Method method, uint64_t seed, uint64_t number);  // Sobol or Halton
Point tpe_point(const Space& space, const std::vector<Observation>& history, Random& random);
Point bayes_point(const Space& space, const std::vector<Observation>& history, Random& random);

}  // namespace minke::search
