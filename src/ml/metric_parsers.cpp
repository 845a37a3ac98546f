#include "ml/metric_parsers.h"

#include <algorithm>
#include <iterator>

#include "text/number.h"

namespace minke::ml {

bool counts_steps(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "step",       "_step",     "global_step",    "epoch", "iteration", "iter",
      "iterations", "num_steps", "steps",          "batch", "episode",   "training_iteration",
      "timestep",   "timesteps", "total_timesteps"};
  const std::string lower = text::lower_case(text::trim(name));
  return std::find(std::begin(kNames), std::end(kNames), lower) != std::end(kNames);
}

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = std::min<size_t>(bytes.size(), 8); i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::optional<uint64_t> Fields::varint() {
  uint64_t value = 0;
  for (size_t i = 0; i < rest_.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(rest_[i]);
    value |= uint64_t{byte & 0x7fu} << (7 * i);
    if (byte < 0x80) {
      rest_.remove_prefix(i + 1);
      return value;
    }
  }
  ok_ = false;
  return std::nullopt;
}

std::optional<Fields::Field> Fields::next() {
  if (rest_.empty() || !ok_) return std::nullopt;
  const auto tag = varint();
  if (!tag) return std::nullopt;
  Field field;
  field.number = static_cast<uint32_t>(*tag >> 3);
  const auto take = [&](uint64_t length) {
    if (length > rest_.size()) {
      ok_ = false;
      return false;
    }
    field.bytes = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return true;
  };
  switch (*tag & 7) {
    case 0: {
      const auto value = varint();
      if (!value) return std::nullopt;
      field.value = *value;
      return field;
    }
    case 1:
    case 5:
      if (!take((*tag & 7) == 1 ? 8 : 4)) return std::nullopt;
      field.value = little_endian(field.bytes);
      return field;
    case 2: {
      const auto length = varint();
      if (!length || !take(*length)) return std::nullopt;
      field.is_bytes = true;
      return field;
    }
    default:
      ok_ = false;
      return std::nullopt;
  }
}

}  // namespace minke::ml
