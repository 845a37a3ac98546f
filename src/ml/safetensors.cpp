#include "ml/safetensors.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace minke::ml {

namespace {

using Json = nlohmann::json;

uint32_t bits_of(std::string_view type) {
  if (type == "F64" || type == "I64" || type == "U64") return 64;
  if (type == "F32" || type == "I32" || type == "U32") return 32;
  if (type == "F16" || type == "BF16" || type == "I16" || type == "U16") return 16;
  if (type == "I8" || type == "U8" || type == "BOOL" || type.starts_with("F8_")) return 8;
  if (type.starts_with("F6_")) return 6;
  if (type == "F4") return 4;
  return 0;
}

}  // namespace

Result<uint64_t> safetensors_header_length(std::string_view start) {
  if (start.size() < 8) return failure("too short for a safetensors file");
  uint64_t length = 0;
  for (size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(start[i]);
  if (length < 2 || length > kMaxSafetensorsHeader)
    return failure("no safetensors file: its header cannot be so long");
  return length;
}

Result<StoredWeights> read_safetensors_header(std::string_view text, uint64_t file_bytes) {
  const Json header = Json::parse(text, nullptr, false);
  if (!header.is_object()) return failure("the header is no JSON object");
  const uint64_t data_bytes = file_bytes < 8 + text.size() ? 0 : file_bytes - 8 - text.size();
  StoredWeights weights;
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    const auto wrong = [&name = name](const char* what) { return failure("tensor " + name + " " + what); };
    if (!tensor.is_object() || !tensor.contains("dtype") || !tensor["dtype"].is_string() ||
        !tensor.contains("shape") || !tensor["shape"].is_array() || !tensor.contains("data_offsets") ||
        !tensor["data_offsets"].is_array() || tensor["data_offsets"].size() != 2)
      return wrong("lacks dtype, shape or data_offsets");
    const std::string type = tensor["dtype"];
    const uint32_t bits = bits_of(type);
    if (bits == 0) return wrong("has a type that is not known");
    uint64_t count = 1;
    for (const Json& side : tensor["shape"]) {
      if (!side.is_number_unsigned()) return wrong("has a shape that cannot be");
      const uint64_t length = side.get<uint64_t>();
      if (length != 0 && count > std::numeric_limits<uint64_t>::max() / 64 / length)
        return wrong("is too large");
      count *= length;
    }
    const Json &first = tensor["data_offsets"][0], &last = tensor["data_offsets"][1];
    if (!first.is_number_unsigned() || !last.is_number_unsigned())
      return wrong("has offsets that are no numbers");
    const uint64_t from = first.get<uint64_t>(), to = last.get<uint64_t>();
    if (to < from || to - from != (count * bits + 7) / 8)
      return wrong("has another length than its shape says");
    if (to > data_bytes) return wrong("lies beyond the end of the file, which is cut off");
    weights.parameters += count;
    weights.bytes += to - from;
    ++weights.tensors;
    weights.packed |= type == "U8" || type == "I32" || type == "U32";
  }
  if (weights.tensors == 0) return failure("it holds no tensor");
  return weights;
}

}  // namespace minke::ml
