// A YAML document as a tree whose nodes know their lines. Pure; any thread.
//
// Bounded: a document of 1 MiB, 64 levels and 100,000 nodes at most, aliases counted as what they stand for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "search/value.h"

namespace minke::search {

struct YamlNode {
  enum class Kind { kScalar, kList, kMap };
  Kind kind = Kind::kScalar;
  std::string text;                                     // of a scalar
  bool quoted = false;                                  // it is a text, whatever it looks like
  uint32_t line = 0;                                    // from 1
  std::vector<YamlNode> items;                          // of a list
  std::vector<std::pair<std::string, YamlNode>> pairs;  // of a map, in the document's order
  std::vector<uint32_t> key_lines;                      // beside `pairs`

  const YamlNode* find(std::string_view key) const;
  bool is_scalar() const { return kind == Kind::kScalar; }
  // A scalar as YAML 1.1 has it, which is what PyYAML reads; and 1e-5 is a number here, too.
  Value value() const;
  std::string json() const;
};

inline constexpr size_t kMaxYamlBytes = size_t{1} << 20;

// "line 3: …" in errors. An empty document is a scalar that is null.
Result<YamlNode> read_yaml(std::string_view text);

}  // namespace minke::search
