// Random numbers that are the same on every machine for the same seed. Pure; one thread at a time.
//
// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace minke::search {

class Random {
 public:
  // Streams of different numbers are independent of each other.
  explicit Random(uint64_t seed, uint64_t stream = 0) : state_(mixed(seed) ^ mixed(~mixed(stream))) {}

  uint64_t bits() { return mixed(state_ += 0x9e3779b97f4a7c15u); }
  // In [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  // In [0, end); 0 if `end` is 0.
  size_t below(size_t end) { return end == 0 ? 0 : static_cast<size_t>(bits() % end); }
  // Mean 0, variance 1 (Box and Muller).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  static uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

}  // namespace minke::search
