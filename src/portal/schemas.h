// The records of /api/v1: for each its fields with their types. The OpenAPI document comes from this table,
// and a test holds every answer against it. Constant data; any thread.
#pragma once

#include <span>
#include <string_view>

namespace minke::portal {

// A type: "text", "integer", "number", "boolean", "time" (s since the epoch; 0: none), "any", the name of a
// record; in front of it "list of ", and "?" behind it where it may be null. First of all "optional " where
// an answer may lack the field.
struct SchemaField {
  std::string_view record, field, type;
};
std::span<const SchemaField> schema_fields();
std::span<const SchemaField> page_schema_fields();  // of page_routes()

}  // namespace minke::portal
