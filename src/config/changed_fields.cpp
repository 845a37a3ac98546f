#include "config/changed_fields.h"

#include <google/protobuf/io/coded_stream.h>

#include <cstdint>
#include <map>
#include <string>

namespace minke::config {
namespace {

// By its number: all of a field, as it stands in a serialised message.
using Fields = std::map<uint32_t, std::string>;

constexpr uint32_t kTypeBits = 3;
enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

bool skip_value(google::protobuf::io::CodedInputStream& in, uint32_t type) {
  uint64_t number = 0;
  uint32_t size = 0;
  switch (type) {
    case kVarint:
      return in.ReadVarint64(&number);
    case kFixed64:
      return in.Skip(sizeof(uint64_t));
    case kFixed32:
      return in.Skip(sizeof(uint32_t));
    case kBytes:
      return in.ReadVarint32(&size) && in.Skip(static_cast<int>(size));
    default:
      return false;
  }
}

// `record` is what protobuf wrote.
Fields fields_of(const std::string& record) {
  Fields fields;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(record.data()),
                                            static_cast<int>(record.size()));
  for (;;) {
    const int begin = in.CurrentPosition();
    const uint32_t tag = in.ReadTag();
    if (tag == 0 || !skip_value(in, tag & ((1U << kTypeBits) - 1))) return fields;
    const int end = in.CurrentPosition();
    fields[tag >> kTypeBits].append(record, static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  }
}

}  // namespace

model::PartitionRecord with_changes(const model::PartitionRecord& before, const model::PartitionRecord& now,
                                    const model::PartitionRecord& present) {
  const Fields was = fields_of(before.SerializeAsString()), is = fields_of(now.SerializeAsString());
  Fields result = fields_of(present.SerializeAsString());
  for (const auto& [number, value] : was)
    if (!is.contains(number)) result.erase(number);
  for (const auto& [number, value] : is) {
    const auto old = was.find(number);
    if (old == was.end() || old->second != value) result[number] = value;
  }
  std::string all;
  for (const auto& [number, value] : result) all += value;
  model::PartitionRecord record;
  return record.ParseFromString(all) ? record : now;
}

}  // namespace minke::config
