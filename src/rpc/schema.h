// The possible content of a message: the fields, their types and the enumerators that this program's
// .proto files define.
//
// A parser keeps unknown fields, so a program that stores or passes on a message passes them on as well:
// unchecked bytes, for readers that did not expect them. So everything that a user sends goes through
// known_part() before it is parsed. It removes unknown fields, at any depth: a newer command may send them.
// It refuses a value that an enumeration does not have: it would be an index of our tables.
//
// A message costs more than its bytes: empty texts and messages take some microseconds each to parse, to keep
// and to read. So the caller bounds the number of parts; eight numbers count as one.
//
// The descriptions are protoc's, built into the program, because the messages have no reflection
// (LITE_RUNTIME). Immutable; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace minke::rpc {

class Schema {
 public:
  static const Schema& of_program();
  // `descriptors` is a serialised FileDescriptorSet.
  explicit Schema(std::string_view descriptors);

  // Returns the known part of a message of this type ("minke.rpc.ClientMessage"): `bytes` themselves if all
  // of it is known, else a copy in `storage`. Fails if it is no message, has a value outside of its
  // enumeration, or more than `most_parts`.
  Result<std::string_view> known_part(std::string_view type, std::string_view bytes, std::string& storage,
                                      size_t most_parts = kUnlimited) const;
  static constexpr size_t kUnlimited = SIZE_MAX;

  struct Field {
    uint8_t type = 0;  // FieldDescriptorProto.Type; 0: there is no field of this number
    bool repeated = false;
    std::string type_name;  // of a message or an enumeration, while descriptions are read
    size_t message = 0;     // index of its type
    size_t enumeration = 0;
  };
  // For tests that make messages of their own: the types' indices, and their fields by number.
  size_t index_of(std::string_view type) const;
  const std::vector<Field>& fields(size_t message) const { return messages_[message].fields; }
  const std::set<int32_t>& enumerators(size_t enumeration) const { return enumerations_[enumeration]; }

 private:
  class Walk;

  struct Message {
    std::vector<Field> fields;  // by number
  };

  void read_file(std::string_view bytes);
  void read_message(std::string_view bytes, const std::string& scope);
  void read_field(std::string_view bytes, Message& message);
  void read_enumeration(std::string_view bytes, const std::string& scope);
  void resolve();

  std::vector<Message> messages_;
  std::vector<std::set<int32_t>> enumerations_;
  std::unordered_map<std::string, size_t> message_indices_, enumeration_indices_;
};

}  // namespace minke::rpc
