// The number of parameters in a safetensors file, and their bytes: both are in its header.
//
// The file begins with the header's length (8 bytes, little-endian), then the header as JSON, then the data.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace minke::ml {

inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;  // the format's own limit

struct StoredWeights {
  uint64_t parameters = 0;  // numbers; of weights packed into integers, fewer than the model has
  uint64_t bytes = 0;
  uint64_t tensors = 0;
  bool packed = false;  // quantised: several numbers in one integer
};

// `start` has the file's first 8 bytes. Fails if it is too short, or longer than the format allows.
Result<uint64_t> safetensors_header_length(std::string_view start);
// `header` is the JSON; `file_bytes` is the size of the whole file. Fails on another kind of header, and on
// offsets that are beyond the file (it is cut off), or do not fit shape and type.
Result<StoredWeights> read_safetensors_header(std::string_view header, uint64_t file_bytes);

}  // namespace minke::ml
