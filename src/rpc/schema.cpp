#include "rpc/schema.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <functional>
#include <utility>

// The path of protoc's output (CMakeLists.txt). Tools that only look at the source have none.
#ifndef MINKE_DESCRIPTORS
#define MINKE_DESCRIPTORS "/dev/null"
#endif
__asm__(
    ".pushsection .rodata\n"
    ".global minke_rpc_descriptors\n"
    "minke_rpc_descriptors:\n"
    ".incbin \"" MINKE_DESCRIPTORS
    "\"\n"
    ".global minke_rpc_descriptors_end\n"
    "minke_rpc_descriptors_end:\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" const char minke_rpc_descriptors[], minke_rpc_descriptors_end[];

namespace minke::rpc {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

namespace {

constexpr int kDeepest = 32;  // messages in messages; ours are far less deep
constexpr uint32_t kHighestNumber = 4096;

// FieldDescriptorProto.Type
constexpr uint8_t kDouble = 1, kFloat = 2, kFixed64 = 6, kFixed32 = 7, kString = 9, kGroup = 10,
                  kMessage = 11, kBytes = 12, kEnum = 14, kSfixed32 = 15, kSfixed64 = 16;
constexpr uint64_t kRepeated = 3;  // FieldDescriptorProto.Label

uint32_t wire_type_of(uint8_t type) {
  switch (type) {
    case kDouble:
    case kFixed64:
    case kSfixed64:
      return WireFormatLite::WIRETYPE_FIXED64;
    case kFloat:
    case kFixed32:
    case kSfixed32:
      return WireFormatLite::WIRETYPE_FIXED32;
    case kString:
    case kMessage:
    case kBytes:
      return WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    default:
      return WireFormatLite::WIRETYPE_VARINT;
  }
}

CodedInputStream stream_of(std::string_view bytes) {
  return CodedInputStream(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
}

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

// Reads the next field's bytes, with their length before them; returns false if they are cut off.
bool read_text(CodedInputStream& in, std::string_view& text) {
  uint32_t size = 0;
  if (!in.ReadVarint32(&size)) return false;
  const void* data = nullptr;
  int available = 0;
  in.GetDirectBufferPointerInline(&data, &available);
  const int until_limit = in.BytesUntilLimit();
  if (until_limit >= 0) available = std::min(available, until_limit);
  if (size > static_cast<uint32_t>(available)) return false;
  text = std::string_view(static_cast<const char*>(data), size);
  return in.Skip(static_cast<int>(size));
}

// Calls back with each field of a description of our own.
void for_each_field(std::string_view bytes,
                    const std::function<void(uint32_t number, uint64_t value, std::string_view text)>& use) {
  CodedInputStream in = stream_of(bytes);
  while (const uint32_t tag = in.ReadTag()) {
    uint64_t value = 0;
    std::string_view text;
    bool whole = true;
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_VARINT:
        whole = in.ReadVarint64(&value);
        break;
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        whole = read_text(in, text);
        break;
      default:
        whole = WireFormatLite::SkipField(&in, tag);
    }
    MINKE_CHECK(whole);
    use(static_cast<uint32_t>(WireFormatLite::GetTagFieldNumber(tag)), value, text);
  }
}

}  // namespace

const Schema& Schema::of_program() {
  static const Schema schema(std::string_view(
      minke_rpc_descriptors, static_cast<size_t>(minke_rpc_descriptors_end - minke_rpc_descriptors)));
  return schema;
}

Schema::Schema(std::string_view descriptors) {
  constexpr uint32_t kFile = 1;
  for_each_field(descriptors, [&](uint32_t number, uint64_t, std::string_view text) {
    if (number == kFile) read_file(text);
  });
  resolve();
}

void Schema::read_file(std::string_view bytes) {
  constexpr uint32_t kPackage = 2, kMessageType = 4, kEnumType = 5;
  std::string package;
  for_each_field(bytes, [&](uint32_t number, uint64_t, std::string_view text) {
    if (number == kPackage) package = "." + std::string(text);
  });
  for_each_field(bytes, [&](uint32_t number, uint64_t, std::string_view text) {
    if (number == kMessageType) read_message(text, package);
    if (number == kEnumType) read_enumeration(text, package);
  });
}

void Schema::read_message(std::string_view bytes, const std::string& scope) {
  constexpr uint32_t kName = 1, kField = 2, kNestedType = 3, kEnumType = 4;
  std::string name = scope;
  Message message;
  for_each_field(bytes, [&](uint32_t number, uint64_t, std::string_view text) {
    if (number == kName) name += "." + std::string(text);
    if (number == kField) read_field(text, message);
  });
  for_each_field(bytes, [&](uint32_t number, uint64_t, std::string_view text) {
    if (number == kNestedType) read_message(text, name);
    if (number == kEnumType) read_enumeration(text, name);
  });
  message_indices_.emplace(std::move(name), messages_.size());
  messages_.push_back(std::move(message));
}

void Schema::read_field(std::string_view bytes, Message& message) {
  constexpr uint32_t kNumber = 3, kLabel = 4, kType = 5, kTypeName = 6;
  Field field;
  uint64_t field_number = 0;
  for_each_field(bytes, [&](uint32_t number, uint64_t value, std::string_view text) {
    if (number == kNumber) field_number = value;
    if (number == kLabel) field.repeated = value == kRepeated;
    if (number == kType) field.type = static_cast<uint8_t>(value);
    if (number == kTypeName) field.type_name = text;
  });
  MINKE_CHECK(field_number <= kHighestNumber && field.type != 0 && field.type != kGroup);
  if (message.fields.size() <= field_number) message.fields.resize(field_number + 1);
  message.fields[field_number] = std::move(field);
}

void Schema::read_enumeration(std::string_view bytes, const std::string& scope) {
  constexpr uint32_t kName = 1, kValue = 2, kValueNumber = 2;
  std::string name = scope;
  std::set<int32_t> values;
  for_each_field(bytes, [&](uint32_t number, uint64_t, std::string_view text) {
    if (number == kName) name += "." + std::string(text);
    if (number != kValue) return;
    int32_t value = 0;
    for_each_field(text, [&](uint32_t part, uint64_t given, std::string_view) {
      if (part == kValueNumber) value = static_cast<int32_t>(given);
    });
    values.insert(value);
  });
  enumeration_indices_.emplace(std::move(name), enumerations_.size());
  enumerations_.push_back(std::move(values));
}

void Schema::resolve() {
  for (Message& message : messages_) {
    for (Field& field : message.fields) {
      if (field.type == kMessage) field.message = message_indices_.at(field.type_name);
      if (field.type == kEnum) field.enumeration = enumeration_indices_.at(field.type_name);
      field.type_name = std::string();
    }
  }
}

// One pass through a message: finds out whether all of it is known, or copies the known part.
class Schema::Walk {
 public:
  Walk(const Schema& schema, size_t most_parts)
      : schema_(schema),
        numbers_left_(most_parts < kUnlimited / 8 ? most_parts * 8 : kUnlimited),
        most_(most_parts) {}

  bool found_unknown() const { return found_unknown_; }
  const std::string& refused() const { return refused_; }

  // Returns false if it is not a message, or is refused. `out` is null if nothing is to be copied.
  bool message(std::string_view bytes, size_t index, std::string* out, int depth = 0) {
    if (depth > kDeepest) return false;
    const Message& known = schema_.messages_[index];
    CodedInputStream in = stream_of(bytes);
    while (const uint32_t tag = in.ReadTag()) {
      const auto number = static_cast<uint32_t>(WireFormatLite::GetTagFieldNumber(tag));
      const Field* field = number < known.fields.size() ? &known.fields[number] : nullptr;
      if (number == 0 || !has_room(1)) return false;
      if (field == nullptr || !takes(*field, WireFormatLite::GetTagWireType(tag))) {
        found_unknown_ = true;
        if (!WireFormatLite::SkipField(&in, tag)) return false;
        continue;
      }
      if (!value(in, tag, *field, out, depth)) return false;
    }
    return in.ConsumedEntireMessage();
  }

 private:
  static bool takes(const Field& field, uint32_t wire_type) {
    if (field.type == 0) return false;
    const uint32_t own = wire_type_of(field.type);
    return wire_type == own ||
           (field.repeated && wire_type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED);  // packed
  }

  bool value(CodedInputStream& in, uint32_t tag, const Field& field, std::string* out, int depth) {
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_VARINT: {
        uint64_t number = 0;
        if (!in.ReadVarint64(&number) || !enumerator(field, number)) return false;
        if (out != nullptr) {
          append_varint(*out, tag);
          append_varint(*out, number);
        }
        return true;
      }
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        return text(in, tag, field, out, depth);
      default: {
        char fixed[8];
        const int size = WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_FIXED64 ? 8 : 4;
        if (!in.ReadRaw(fixed, size)) return false;
        if (out != nullptr) {
          append_varint(*out, tag);
          out->append(fixed, static_cast<size_t>(size));
        }
        return true;
      }
    }
  }

  bool text(CodedInputStream& in, uint32_t tag, const Field& field, std::string* out, int depth) {
    std::string_view bytes;
    if (!read_text(in, bytes)) return false;
    const bool is_packed =
        field.repeated && field.type != kMessage && field.type != kString && field.type != kBytes;
    if (!has_room(is_packed ? bytes.size() : 7)) return false;
    std::string part;
    if (field.type == kMessage) {
      if (!message(bytes, field.message, out == nullptr ? nullptr : &part, depth + 1)) return false;
      if (out != nullptr) bytes = part;
    } else if (field.type == kEnum) {
      CodedInputStream values = stream_of(bytes);
      uint64_t number = 0;
      while (values.CurrentPosition() < static_cast<int>(bytes.size())) {
        if (!values.ReadVarint64(&number) || !enumerator(field, number)) return false;
      }
    }
    if (out != nullptr) {
      append_varint(*out, tag);
      append_varint(*out, bytes.size());
      out->append(bytes);
    }
    return true;
  }

  bool has_room(size_t numbers) {
    if (numbers_left_ == kUnlimited) return true;
    if (numbers <= numbers_left_) {
      numbers_left_ -= numbers;
      return true;
    }
    refused_ = "more than " + std::to_string(most_) + " parts: name fewer at once";
    return false;
  }

  bool enumerator(const Field& field, uint64_t number) {
    if (field.type != kEnum ||
        schema_.enumerations_[field.enumeration].contains(static_cast<int32_t>(number)))
      return true;
    refused_ = "a value " + std::to_string(static_cast<int32_t>(number)) + " that this daemon does not know";
    return false;
  }

  const Schema& schema_;
  size_t numbers_left_;
  const size_t most_;
  bool found_unknown_ = false;
  std::string refused_;
};

size_t Schema::index_of(std::string_view type) const {
  const auto index = message_indices_.find("." + std::string(type));
  MINKE_CHECK(index != message_indices_.end());
  return index->second;
}

Result<std::string_view> Schema::known_part(std::string_view type, std::string_view bytes,
                                            std::string& storage, size_t most_parts) const {
  const size_t index = index_of(type);
  Walk looking(*this, most_parts);
  if (!looking.message(bytes, index, nullptr)) {
    return failure(looking.refused().empty() ? "what was sent is no message of this protocol"
                                             : "the request has " + looking.refused());
  }
  if (!looking.found_unknown()) return bytes;
  storage.clear();
  storage.reserve(bytes.size());
  Walk copying(*this, kUnlimited);
  MINKE_CHECK(copying.message(bytes, index, &storage));
  return storage;
}

}  // namespace minke::rpc
