// Messages made from a fuzzer's bytes: well formed, with fields of their type, and values that are likely to
// matter. Only for tests. The same bytes make the same message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/schema.h"

namespace minke::rpc {

// Bytes that decide choices; when they are used up, every choice is the first one.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  bool empty() const { return at_ == end_; }
  uint8_t byte() { return at_ == end_ ? 0 : *at_++; }
  size_t below(size_t count) {
    return count == 0 ? 0 : (count > 256 ? byte() * 256u + byte() : byte()) % count;
  }
  bool rarely() { return byte() % 16 == 15; }
  std::string text(size_t most) {
    std::string out;
    for (size_t left = below(most + 1); left > 0 && !empty(); --left)
      out.push_back(static_cast<char>(byte()));
    return out;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

class RandomMessages {
 public:
  // `numbers` and `texts` exist in the world of the messages; others are odd in any world.
  RandomMessages(Choices& choices, std::vector<uint64_t> numbers, std::vector<std::string> texts)
      : choices_(choices), numbers_(std::move(numbers)), texts_(std::move(texts)) {}

  // The serialised form of a message of this type, with a few of its fields.
  std::string make(size_t type, int depth = 0) {
    constexpr int kDeepest = 5;
    std::string out;
    const std::vector<Schema::Field>& fields = schema_.fields(type);
    std::vector<uint32_t> numbers;
    for (uint32_t number = 0; number < fields.size(); ++number)
      if (fields[number].type != 0) numbers.push_back(number);
    for (size_t left = numbers.empty() ? 0 : choices_.below(7); left > 0 && !choices_.empty(); --left) {
      const uint32_t number = numbers[choices_.below(numbers.size())];
      if (depth < kDeepest) add(out, number, fields[number], depth);
    }
    return out;
  }
  // The same as a field of another message.
  static void add_part(std::string& out, uint32_t number, std::string_view part) {
    add_varint(out, number << 3 | 2);
    add_varint(out, part.size());
    out.append(part);
  }
  static void add_number(std::string& out, uint32_t number, uint64_t value) {
    add_varint(out, number << 3);
    add_varint(out, value);
  }
  // Adds an unknown field, of any form.
  void add_unknown(std::string& out, uint32_t number) {
    static constexpr std::array<uint8_t, 4> kForms = {0, 1, 2, 5};
    const uint8_t form = kForms[choices_.below(kForms.size())];
    add_varint(out, number << 3 | form);
    if (form == 0) add_varint(out, choices_.byte());
    if (form == 1) out.append("12345678");
    if (form == 2) out.append("\x02xy");
    if (form == 5) out.append("1234");
  }
  uint64_t number() {
    static constexpr uint64_t kOdd[] = {
        0,          1,           2,     3,       7,          9,          10,         64,
        255,        1000,        65535, 4000000, 0x7fffffff, 0xffffffff, 0xfffffffe, uint64_t{1} << 32,
        1700000000, ~uint64_t{0}};
    const size_t pick = choices_.below(numbers_.size() + std::size(kOdd));
    return pick < numbers_.size() ? numbers_[pick] : kOdd[pick - numbers_.size()];
  }

 private:
  static void add_varint(std::string& out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
    out.push_back(static_cast<char>(value));
  }

  void add(std::string& out, uint32_t number, const Schema::Field& field, int depth) {
    constexpr uint8_t kDouble = 1, kFloat = 2, kString = 9, kMessage = 11, kBytes = 12, kEnum = 14;
    switch (field.type) {
      case kMessage:
        return add_part(out, number, make(field.message, depth + 1));
      case kString:
      case kBytes:
        return add_part(out, number, text(field.type == kBytes));
      case kEnum: {
        const auto& known = schema_.enumerators(field.enumeration);
        const auto value = *std::next(known.begin(), static_cast<ptrdiff_t>(choices_.below(known.size())));
        return add_number(out, number, choices_.rarely() ? this->number() : static_cast<uint64_t>(value));
      }
      case kDouble:
        add_varint(out, number << 3 | 1);
        for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(choices_.byte()));
        return;
      case kFloat:
        return;  // none of ours
      default:
        return add_number(out, number, this->number());
    }
  }

  std::string text(bool any_bytes) {
    if (any_bytes && choices_.rarely()) return choices_.text(40);
    return texts_.empty() ? std::string() : texts_[choices_.below(texts_.size())];
  }

  const Schema& schema_ = Schema::of_program();
  Choices& choices_;
  std::vector<uint64_t> numbers_;
  std::vector<std::string> texts_;
};

}  // namespace minke::rpc
