#include "view/document/shape.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "text/number.h"

namespace minke::view {
namespace {

// Makes the shapes of one version. Records that are part of several are made once.
class ShapeMaker {
 public:
  explicit ShapeMaker(int version) : version_(version) {
    for (const ShapeEntity* entity : shape_entities()) entities_[entity->name] = entity;
  }

  const Shape* record(std::string_view name) {
    if (const auto made = records_.find(name); made != records_.end()) return made->second;
    const auto entity = entities_.find(name);
    if (entity == entities_.end()) return nullptr;
    Shape& shape = shapes_.emplace_back();
    records_[name] = &shape;
    for (const ShapeField& field : entity->second->fields)
      if (is_in(field, version_)) add(shape, field.path, field);
    return &shape;
  }

 private:
  void add(Shape& parent, std::string_view path, const ShapeField& field) {
    const size_t slash = path.find('/');
    const std::string_view name = path.substr(0, slash);
    if (slash == std::string_view::npos) return add_member(parent, name, value(field));
    for (const Shape::Member& member : parent.members)
      if (member.name == name) return add(inner_.at(member.shape), path.substr(slash + 1), field);
    Shape& inner = shapes_.emplace_back();
    inner_.emplace(&inner, inner);
    add_member(parent, name, &inner);
    add(inner, path.substr(slash + 1), field);
  }

  static void add_member(Shape& parent, std::string_view name, const Shape* shape) {
    parent.members.push_back({"\"" + std::string(name) + "\": ", name, shape});
  }

  const Shape* value(const ShapeField& field) {
    switch (field.kind) {
      case kRecord:
        return record(field.of);
      case kMaybeRecord: {
        Shape& shape = shapes_.emplace_back(*record(field.of));
        shape.maybe = true;
        return &shape;
      }
      case kList:
        return array(record(field.of));
      case kTexts:
        return array(plain(ShapeKind::kText));
      case kInts32:
        return array(plain(ShapeKind::kInteger));
      case kAnythings:
        return array(nullptr);
      case kNothing:
        return plain(ShapeKind::kObject);
      case kWord:
      case kWords: {
        Shape& shape = shapes_.emplace_back();
        shape.kind = field.kind == kWord ? ShapeKind::kWord : ShapeKind::kWords;
        shape.words = words_of(field.of, version_);
        return &shape;
      }
      default:
        return plain(kind_of(field.kind));
    }
  }

  static ShapeKind kind_of(FieldKind kind) {
    switch (kind) {
      case kText:
        return ShapeKind::kText;
      case kReal:
        return ShapeKind::kReal;
      case kTrueFalse:
        return ShapeKind::kTrueFalse;
      case kNumber16:
      case kNumber32:
      case kNumber64:
        return ShapeKind::kNumber;
      case kRealNumber:
        return ShapeKind::kRealNumber;
      default:
        return ShapeKind::kInteger;
    }
  }

  const Shape* plain(ShapeKind kind) {
    Shape& shape = shapes_.emplace_back();
    shape.kind = kind;
    return &shape;
  }
  const Shape* array(const Shape* item) {
    Shape& shape = shapes_.emplace_back();
    shape.kind = ShapeKind::kArray;
    shape.item = item;
    return &shape;
  }

  int version_;
  std::deque<Shape> shapes_;
  std::map<std::string_view, const ShapeEntity*> entities_;
  std::map<std::string_view, const Shape*> records_;
  std::map<const Shape*, Shape&> inner_;
};

}  // namespace

const Shape* shape_of(std::string_view entity, int version) {
  static std::mutex mutex;
  static std::map<int, ShapeMaker> makers;
  const std::lock_guard lock(mutex);
  return makers.try_emplace(version, version).first->second.record(entity);
}

bool is_in(const ShapeField& field, int version) {
  return version >= field.since && version <= field.until;
}

bool take_word(std::string_view& word, int version) {
  const size_t at = word.find('@');
  if (at == std::string_view::npos) return true;
  const std::string_view range = word.substr(at + 1);
  word = word.substr(0, at);
  const size_t dash = range.find('-');
  int since = 0, until = 255;
  std::from_chars(range.data(), range.data() + std::min(dash, range.size()), since);
  if (dash != std::string_view::npos)
    std::from_chars(range.data() + dash + 1, range.data() + range.size(), until);
  return version >= since && version <= until;
}

std::vector<const ShapeEntity*> shape_entities() {
  std::vector<const ShapeEntity*> entities;
  for (const auto part : {shapes_jobs(), shapes_machine(), shapes_statistics(), shapes_config(),
                          shapes_accounts(), shapes_accounted()})
    for (const ShapeEntity& entity : part) entities.push_back(&entity);
  return entities;
}

std::vector<std::string_view> words_of(std::string_view list, int version) {
  std::vector<std::string_view> words;
  for (const ShapeWords& known : shape_words()) {
    if (known.name != list) continue;
    for (std::string_view word : text::split(known.words, '|'))
      if (take_word(word, version)) words.push_back(word);
  }
  return words;
}

}  // namespace minke::view
