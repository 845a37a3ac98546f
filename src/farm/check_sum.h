// A check sum (FNV-1a, 32 bits) that tells a record that was cut short from a whole one. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace minke::farm {

inline uint32_t check_sum(std::string_view bytes) {
  uint32_t sum = 2166136261u;
  for (const char c : bytes) sum = (sum ^ static_cast<unsigned char>(c)) * 16777619u;
  return sum;
}

}  // namespace minke::farm
