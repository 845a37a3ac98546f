// The shape of a document in one version: the table of shape_tables.h as a tree, which a Document follows
// while it is written. Shapes are made once and never freed; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "view/document/shape_tables.h"

namespace minke::view {

enum class ShapeKind : uint8_t {
  kObject,
  kArray,
  kText,
  kInteger,
  kReal,
  kTrueFalse,
  kNumber,
  kRealNumber,
  kWord,
  kWords
};

struct Shape {
  struct Member {
    std::string key;  // with quotes, colon and blank, as it is written
    std::string_view name;
    const Shape* shape;
  };
  ShapeKind kind = ShapeKind::kObject;
  bool maybe = false;                   // an object that is null where nothing is known of it
  std::vector<Member> members;          // of an object
  const Shape* item = nullptr;          // of an array; nullptr: anything
  std::vector<std::string_view> words;  // that it may hold
};

// Returns the shape of such a record, nullptr if there is no such record.
const Shape* shape_of(std::string_view entity, int version);

// Whether a row is in this version; the same for a word ("NEW@43"), which it strips.
bool is_in(const ShapeField& field, int version);
bool take_word(std::string_view& word, int version);
// All records of the table, and those words that the list has in this version.
std::vector<const ShapeEntity*> shape_entities();
std::vector<std::string_view> words_of(std::string_view list, int version);

}  // namespace minke::view
