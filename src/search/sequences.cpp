#include "search/sequences.h"

#include <algorithm>
#include <array>

#include "base/result.h"

namespace minke::search {

namespace {

constexpr int kBits = 32;

struct Directions {
  uint32_t degree, coefficients;
  std::array<uint32_t, 7> first;
};
constexpr std::array<Directions, kSobolDimensions - 1> kDirections = {{
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
}};

// The direction numbers of one dimension, as 32-bit fractions.
std::array<uint32_t, kBits> directions_of(size_t dimension) {
  std::array<uint32_t, kBits> v{};
  if (dimension == 0) {
    for (int i = 0; i < kBits; ++i) v[i] = 1u << (kBits - 1 - i);
    return v;
  }
  const Directions& given = kDirections[dimension - 1];
  const int degree = static_cast<int>(given.degree);
  for (int i = 0; i < kBits; ++i) {
    if (i < degree) {
      v[i] = given.first[i] << (kBits - 1 - i);
      continue;
    }
    v[i] = v[i - degree] ^ (v[i - degree] >> degree);
    for (int k = 1; k < degree; ++k) {
      if ((given.coefficients >> (degree - 1 - k) & 1) != 0) v[i] ^= v[i - k];
    }
  }
  return v;
}

std::vector<uint32_t> primes(size_t count) {
  std::vector<uint32_t> found;
  for (uint32_t candidate = 2; found.size() < count; ++candidate) {
    if (std::none_of(found.begin(), found.end(), [&](uint32_t prime) { return candidate % prime == 0; }))
      found.push_back(candidate);
  }
  return found;
}

}  // namespace

std::vector<double> sobol_point(uint64_t number, size_t dimensions) {
  MINKE_CHECK(dimensions <= kSobolDimensions);
  const auto gray = static_cast<uint32_t>(number ^ (number >> 1));
  std::vector<double> point(dimensions);
  for (size_t d = 0; d < dimensions; ++d) {
    const auto v = directions_of(d);
    uint32_t bits = 0;
    for (int i = 0; i < kBits; ++i) {
      if ((gray >> i & 1) != 0) bits ^= v[i];
    }
    point[d] = bits * 0x1p-32;
  }
  return point;
}

std::vector<double> halton_point(uint64_t number, size_t dimensions) {
  const std::vector<uint32_t> bases = primes(dimensions);
  std::vector<double> point(dimensions);
  for (size_t d = 0; d < dimensions; ++d) {
    double unit = 1;
    for (uint64_t rest = number; rest > 0; rest /= bases[d]) {
      unit /= bases[d];
      point[d] += unit * static_cast<double>(rest % bases[d]);
    }
  }
  return point;
}

}  // namespace minke::search
