// The parsers behind metric_files.h, and their common parts. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "ml/metric_files.h"

namespace minke::ml {

std::unique_ptr<MetricParser> make_wandb_parser();
std::unique_ptr<MetricParser> make_event_parser();
std::unique_ptr<MetricParser> make_table_parser();
std::unique_ptr<MetricParser> make_json_parser();

// Whether a column or key of this name counts the steps of a training.
bool counts_steps(std::string_view name);

// A cyclic redundancy check of 32 bits, bits reversed: 0xedb88320 is IEEE's, 0x82f63b78 Castagnoli's.
class Crc32 {
 public:
  explicit constexpr Crc32(uint32_t polynomial) : table_{} {
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? polynomial : 0);
      table_[i] = value;
    }
  }
  constexpr uint32_t operator()(std::string_view bytes) const {
    uint32_t value = 0xffffffff;
    for (const char byte : bytes)
      value = value >> 8 ^ table_[(value ^ static_cast<unsigned char>(byte)) & 0xff];
    return ~value;
  }

 private:
  std::array<uint32_t, 256> table_;
};

uint64_t little_endian(std::string_view bytes);  // of up to 8 bytes

// The fields of a protobuf message, one after the other.
class Fields {
 public:
  struct Field {
    uint32_t number = 0;
    uint64_t value = 0;      // of numbers
    std::string_view bytes;  // of texts and messages
    bool is_bytes = false;
  };
  explicit Fields(std::string_view message) : rest_(message) {}
  // Returns nothing at the end, and where no message follows; ok() is false then.
  std::optional<Field> next();
  bool ok() const { return ok_; }

 private:
  std::optional<uint64_t> varint();
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace minke::ml
