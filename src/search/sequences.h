// Sequences of points that fill a cube more evenly than random ones (quasi-random numbers). Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace minke::search {

// As many dimensions as the table of directions has.
inline constexpr size_t kSobolDimensions = 21;

// Point `number` (from 0) of Sobol's sequence, in [0, 1); `dimensions` is kSobolDimensions at most.
// Directions are those of S. Joe and F. Y. Kuo, Constructing Sobol sequences with better two-dimensional
// projections, 2008 (new-joe-kuo-6.21201).
std::vector<double> sobol_point(uint64_t number, size_t dimensions);
// Point `number` of Halton's sequence: in dimension i the digits of the number in the base of the i-th prime,
// mirrored at the point. Up to 500 dimensions.
std::vector<double> halton_point(uint64_t number, size_t dimensions);

}  // namespace minke::search
