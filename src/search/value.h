// A value of a hyperparameter, as sweep files and programs write it. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace minke::search {

// A list or mapping, as JSON text. A category may be one; nothing is computed with it.
struct Compound {
  std::string json;
  bool operator==(const Compound&) const = default;
};

// monostate is null.
using Value = std::variant<std::monostate, bool, int64_t, double, std::string, Compound>;

// {"lr": 0.1, "name": "adam"}: JSON. Numbers are the shortest text that reads back as the same number.
std::string json_of(const Value& value);
std::string json_string(const std::string& text);  // in quotes; bytes that are no UTF-8 become U+FFFD
// True, None, adam, 0.1: as Python's str() writes it, which is what W&B's agent passes to programs.
std::string python_text(const Value& value);
// The same within a list or mapping: 'adam' in quotes.
std::string python_literal(const Value& value);

}  // namespace minke::search
