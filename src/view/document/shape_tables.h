// The one table of what documents hold: for each kind of record its fields, in the terms of slurmrestd's
// OpenAPI documents. From it come the keys and types that --json prints (shape.h), and the schemas that a
// REST server shows (schema.h). Constant data; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace minke::view {

// A number may be infinite or unset: {"set", "infinite", "number"}. Words are an array of words from a list.
enum FieldKind : uint8_t {
  kText,
  kTexts,
  kInt32,
  kInt64,
  kInts32,
  kReal,
  kTrueFalse,
  kNumber16,
  kNumber32,
  kNumber64,
  kRealNumber,
  kWord,
  kWords,
  kRecord,
  kMaybeRecord,  // null where there is none
  kNothing,      // an object without fields
  kList,         // of records
  kAnythings,    // an array of what no schema describes
};

// "comment/administrator" is within an object "comment". `of` names the record, or the list of words.
struct ShapeField {
  std::string_view path;
  FieldKind kind;
  std::string_view of = {};
  uint8_t since = 40, until = 255;  // N of data_parser/v0.0.N
};
struct ShapeEntity {
  std::string_view name;  // as slurmrestd calls it, without "v0.0.N_"
  std::span<const ShapeField> fields;
};
struct ShapeWords {
  std::string_view name;
  std::string_view words;  // "OLD@-42|ALWAYS|NEW@43"
};

std::span<const ShapeEntity> shapes_jobs();
std::span<const ShapeEntity> shapes_machine();
std::span<const ShapeEntity> shapes_statistics();
std::span<const ShapeEntity> shapes_config();
std::span<const ShapeEntity> shapes_accounts();
std::span<const ShapeEntity> shapes_accounted();
std::span<const ShapeWords> shape_words();

}  // namespace minke::view
