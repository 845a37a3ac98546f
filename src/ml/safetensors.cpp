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

struct Tensor {
  uint64_t parameters = 0, bytes = 0;
  bool packed = false;  // of a type that quantized weights are packed into
};

bool is_tensor(const Json& description) {
  if (!description.is_object()) return false;
  const auto type = description.find("dtype"), shape = description.find("shape"),
             offsets = description.find("data_offsets"), none = description.end();
  return type != none && type->is_string() && shape != none && shape->is_array() && offsets != none &&
         offsets->is_array() && offsets->size() == 2;
}

Result<uint64_t> count_of(const Json& shape) {
  uint64_t count = 1;
  for (const Json& side : shape) {
    if (!side.is_number_unsigned()) return failure("has a shape that cannot be");
    const uint64_t length = side.get<uint64_t>();
    if (length != 0 && count > std::numeric_limits<uint64_t>::max() / 64 / length)
      return failure("is too large");
    count *= length;
  }
  return count;
}

// An error continues the tensor's name.
Result<Tensor> read_tensor(const Json& description, uint64_t data_bytes) {
  if (!is_tensor(description)) return failure("lacks dtype, shape or data_offsets");
  const std::string type = description["dtype"];
  const uint32_t bits = bits_of(type);
  if (bits == 0) return failure("has a type that is not known");
  const auto count = count_of(description["shape"]);
  if (!count) return failure(count.error());
  const Json &first = description["data_offsets"][0], &last = description["data_offsets"][1];
  if (!first.is_number_unsigned() || !last.is_number_unsigned())
    return failure("has offsets that are no numbers");
  const uint64_t from = first.get<uint64_t>(), to = last.get<uint64_t>();
  if (to < from || to - from != (*count * bits + 7) / 8)
    return failure("has another length than its shape says");
  if (to > data_bytes) return failure("lies beyond the end of the file, which is cut off");
  return Tensor{*count, to - from, type == "U8" || type == "I32" || type == "U32"};
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
  for (const auto& [name, description] : header.items()) {
    if (name == "__metadata__") continue;
    const auto tensor = read_tensor(description, data_bytes);
    if (!tensor) return failure("tensor " + name + " " + tensor.error().message);
    weights.parameters += tensor->parameters;
    weights.bytes += tensor->bytes;
    ++weights.tensors;
    weights.packed |= tensor->packed;
  }
  if (weights.tensors == 0) return failure("it holds no tensor");
  return weights;
}

}  // namespace minke::ml
