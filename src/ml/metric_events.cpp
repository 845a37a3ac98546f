// TensorBoard's event files: length, its checksum, data, its checksum (CRC-32C, masked), each record a
// protobuf message Event with a step and a summary of values.
#include <optional>
#include <string>

#include "ml/metric_parsers.h"

namespace minke::ml {

namespace {

constexpr size_t kHeadBytes = 12, kTailBytes = 4;
constexpr uint64_t kMaxRecordBytes = uint64_t{256} << 20;
constexpr Crc32 kCrc(0x82f63b78);
// Numbers of fields.
constexpr uint32_t kEventTime = 1, kEventStep = 2, kEventSummary = 5, kSummaryValue = 1;
constexpr uint32_t kValueTag = 1, kValueSimple = 2, kValueTensor = 8;
constexpr uint32_t kTensorType = 1, kTensorShape = 2, kTensorContent = 4, kTensorFloats = 5,
                   kTensorDoubles = 6;
constexpr uint64_t kFloat = 1, kDouble = 2;  // types of a tensor

uint32_t masked(uint32_t crc) {
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

double as_float(uint64_t bits) {
  const auto narrow = static_cast<uint32_t>(bits);
  float value = 0;
  __builtin_memcpy(&value, &narrow, sizeof value);
  return value;
}
double as_double(uint64_t bits) {
  double value = 0;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// The content of a tensor's message.
struct Tensor {
  uint64_t type = 0;
  bool has_dimensions = false;
  std::string_view content, floats, doubles;
  std::optional<double> single;  // of a list that is not packed
};

void take_bytes(Tensor& tensor, uint32_t number, std::string_view bytes) {
  if (number == kTensorShape) tensor.has_dimensions = !bytes.empty();
  if (number == kTensorContent) tensor.content = bytes;
  if (number == kTensorFloats) tensor.floats = bytes;
  if (number == kTensorDoubles) tensor.doubles = bytes;
}

void take_number(Tensor& tensor, uint32_t number, uint64_t bits) {
  if (number == kTensorType) tensor.type = bits;
  if (number == kTensorFloats) tensor.single = as_float(bits);
  if (number == kTensorDoubles) tensor.single = as_double(bits);
}

// Returns the number in a tensor that has just one.
std::optional<double> read_tensor(std::string_view message) {
  Tensor tensor;
  Fields fields(message);
  while (const auto field = fields.next()) {
    if (field->is_bytes) {
      take_bytes(tensor, field->number, field->bytes);
    } else {
      take_number(tensor, field->number, field->value);
    }
    if (tensor.has_dimensions) return std::nullopt;
  }
  if (tensor.single) return tensor.single;
  if (tensor.type == kFloat && tensor.content.size() == 4) return as_float(little_endian(tensor.content));
  if (tensor.type == kDouble && tensor.content.size() == 8) return as_double(little_endian(tensor.content));
  if (tensor.floats.size() == 4) return as_float(little_endian(tensor.floats));
  if (tensor.doubles.size() == 8) return as_double(little_endian(tensor.doubles));
  return std::nullopt;
}

class EventParser : public MetricParser {
 public:
  Status feed(std::string_view bytes, MetricSet& metrics) override {
    buffer_.append(bytes);
    size_t at = 0;
    Status status;
    while (status && buffer_.size() - at >= kHeadBytes) {
      const std::string_view rest = std::string_view(buffer_).substr(at);
      const uint64_t length = little_endian(rest.substr(0, 8));
      if (masked(kCrc(rest.substr(0, 8))) != little_endian(rest.substr(8, 4)) || length > kMaxRecordBytes) {
        status = failure("damaged at byte " + std::to_string(position_ + at));
        break;
      }
      if (rest.size() < kHeadBytes + length + kTailBytes) break;
      const std::string_view event = rest.substr(kHeadBytes, length);
      if (masked(kCrc(event)) != little_endian(rest.substr(kHeadBytes + length, 4))) {
        status = failure("damaged at byte " + std::to_string(position_ + at) + " (checksum)");
        break;
      }
      read_event(event, metrics);
      at += kHeadBytes + length + kTailBytes;
    }
    buffer_.erase(0, at);
    position_ += at;
    return status;
  }
  size_t unread() const override { return buffer_.size(); }

 private:
  static void read_event(std::string_view event, MetricSet& metrics) {
    double step = 0, time = 0;
    std::string_view summary;
    Fields fields(event);
    while (const auto field = fields.next()) {
      if (field->number == kEventStep && !field->is_bytes)
        step = static_cast<double>(static_cast<int64_t>(field->value));
      if (field->number == kEventTime && !field->is_bytes) time = as_double(field->value);
      if (field->number == kEventSummary && field->is_bytes) summary = field->bytes;
    }
    metrics.set_time(time);
    Fields values(summary);
    while (const auto value = values.next()) {
      if (value->number != kSummaryValue || !value->is_bytes) continue;
      std::string_view tag;
      std::optional<double> number;
      Fields inner(value->bytes);
      while (const auto field = inner.next()) {
        if (field->number == kValueTag) tag = field->bytes;
        if (field->number == kValueSimple && !field->is_bytes) number = as_float(field->value);
        if (field->number == kValueTensor && field->is_bytes) number = read_tensor(field->bytes);
      }
      if (number) metrics.add(tag, &step, *number);
    }
  }

  std::string buffer_;
  size_t position_ = 0;
};

}  // namespace

std::unique_ptr<MetricParser> make_event_parser() {
  return std::make_unique<EventParser>();
}

}  // namespace minke::ml
