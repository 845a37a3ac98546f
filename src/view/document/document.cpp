#include "view/document/document.h"

#include "base/version.h"
#include "text/number.h"
#include "view/document/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace minke::view {
namespace {

constexpr int kBeforeNewest = 42;
thread_local int asked_parser = 0;

}  // namespace

int data_parser() {
  if (const int asked = asked_parser; asked != 0) return asked;
  return spoken_release() < kSlurm26 ? kBeforeNewest : kNewestParser;
}
void use_data_parser(int version) {
  asked_parser = version;
}

namespace {

// Returns the length of the UTF-8 sequence at the beginning of `text`; 0 if there is none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  const size_t length = lead < 0x80 ? 1 : lead >= 0xf0 && lead < 0xf5 ? 4 : lead >= 0xe0 ? 3 : 2;
  if ((lead >= 0x80 && lead < 0xc2) || lead >= 0xf5 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Overlong forms, surrogates, and code points beyond U+10FFFF.
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;
  if (lead == 0xed && byte(1) > 0x9f) return 0;
  if (lead == 0xf0 && byte(1) < 0x90) return 0;
  if (lead == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

}  // namespace

Document::Document(DocumentFormat format, std::string_view record) : format_(format) {
  open(false, record.empty() ? nullptr : shape_of(record, data_parser()));
}

Document::Place Document::place(std::string_view key) const {
  if (left_out_ != 0) return {false};
  const Level& level = levels_.back();
  if (level.shape == nullptr) return {true};
  if (level.array) return {true, level.shape->kind == ShapeKind::kWords ? level.shape : level.shape->item};
  const auto& members = level.shape->members;
  for (size_t i = 0, at = level.next; i < members.size(); ++i, ++at) {
    if (at >= members.size()) at = 0;
    if (members[at].name == key) return {(level.seen[at / 64] >> (at % 64) & 1) == 0, members[at].shape, at};
  }
  return {false};
}

bool Document::has_object(std::string_view key) const {
  const Place at = place(key);
  return at.allowed && (at.shape == nullptr || at.shape->kind == ShapeKind::kObject);
}

void Document::open(bool array, const Shape* shape) {
  levels_.push_back({array, true, shape});
  if (format_ != DocumentFormat::kYaml) {
    out_ += array ? '[' : '{';
  } else if (out_.ends_with(' ')) {
    out_.pop_back();  // the values are on lines of their own
  }
}

void Document::before_value(std::string_view key, const Place& at) {
  Level& level = levels_.back();
  if (format_ != DocumentFormat::kYaml) {
    if (!level.empty) out_ += ',';
    if (format_ == DocumentFormat::kJson) {
      out_ += '\n';
      indent(levels_.size());
    }
  } else {
    if (!out_.empty() && out_.back() != '\n') out_ += '\n';
    indent(levels_.size() - 1);
    if (level.array) out_ += "- ";
  }
  level.empty = false;
  if (level.array) return;
  if (level.shape != nullptr) {
    level.seen[at.member / 64] |= uint64_t{1} << (at.member % 64);
    level.next = at.member + 1;
    out_ += level.shape->members[at.member].key;
    return;
  }
  quoted(key);
  out_ += ": ";
}

void Document::begin(std::string_view key, bool array) {
  const Place at = place(key);
  const bool fits = at.shape == nullptr ||
                    (array ? at.shape->kind == ShapeKind::kArray || at.shape->kind == ShapeKind::kWords
                           : at.shape->kind == ShapeKind::kObject);
  if (!at.allowed || !fits) {
    ++left_out_;
    return;
  }
  before_value(key, at);
  open(array, at.shape);
}

void Document::begin_object(std::string_view key) {
  begin(key, false);
}

void Document::begin_array(std::string_view key) {
  begin(key, true);
}

void Document::end() {
  if (left_out_ != 0) {
    --left_out_;
    return;
  }
  if (const Shape* shape = levels_.back().shape; shape != nullptr && !levels_.back().array) {
    for (size_t at = 0; at < shape->members.size(); ++at)
      if ((levels_.back().seen[at / 64] >> (at % 64) & 1) == 0)
        write_unset({true, shape->members[at].shape, at});
  }
  const Level level = levels_.back();
  levels_.pop_back();
  if (format_ != DocumentFormat::kYaml) {
    if (!level.empty && format_ == DocumentFormat::kJson) {
      out_ += '\n';
      indent(levels_.size());
    }
    out_ += level.array ? ']' : '}';
  } else if (level.empty) {
    out_ += level.array ? " []" : " {}";
  }
}

void Document::quoted(std::string_view value) {
  out_ += '"';
  while (!value.empty()) {
    const size_t length = utf8_length(value);
    const char c = value.front();
    if (length == 0) {
      out_ += "\xef\xbf\xbd";
    } else if (c == '"' || c == '\\') {
      out_ += '\\';
      out_ += c;
    } else if (c == '\n') {
      out_ += "\\n";
    } else if (c == '\t') {
      out_ += "\\t";
    } else if (static_cast<uint8_t>(c) < 0x20 || c == 0x7f) {
      fmt::format_to(std::back_inserter(out_), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out_ += value.substr(0, length);
    }
    value.remove_prefix(length == 0 ? 1 : length);
  }
  out_ += '"';
}

void Document::write_text(std::string_view key, const Place& at, std::string_view value) {
  before_value(key, at);
  quoted(value);
}

void Document::write_integer(std::string_view key, const Place& at, int64_t value) {
  before_value(key, at);
  fmt::format_to(std::back_inserter(out_), "{}", value);
}

void Document::write_boolean(std::string_view key, const Place& at, bool value) {
  before_value(key, at);
  out_ += value ? "true" : "false";
}

void Document::write_real(std::string_view key, const Place& at, double value) {
  before_value(key, at);
  const size_t start = out_.size();
  fmt::format_to(std::back_inserter(out_), "{}", std::isfinite(value) ? value : 0.0);
  if (out_.find_first_of(".e", start) == std::string::npos) out_ += ".0";
}

void Document::write_number(std::string_view key, const Place& at, std::optional<int64_t> value,
                            bool infinite) {
  before_value(key, at);
  open(false, nullptr);
  write_boolean("set", {true}, value.has_value() && !infinite);
  write_boolean("infinite", {true}, infinite);
  write_integer("number", {true}, infinite ? 0 : value.value_or(0));
  end();
}

void Document::write_real_number(std::string_view key, const Place& at, std::optional<double> value,
                                 bool infinite) {
  before_value(key, at);
  open(false, nullptr);
  write_boolean("set", {true}, value.has_value() && !infinite);
  write_boolean("infinite", {true}, infinite);
  write_real("number", {true}, infinite ? 0 : value.value_or(0));
  end();
}

// Writes an array with the words of a list ("cpu,mem"), or with none.
void Document::write_words(std::string_view key, const Place& at, std::string_view list) {
  before_value(key, at);
  open(true, at.shape);
  for (std::string_view word : text::split(list, ','))
    if (!word.empty()) text({}, word);
  end();
}

void Document::write_unset(const Place& at) {
  switch (at.shape->kind) {
    case ShapeKind::kObject:
      if (at.shape->maybe && data_parser() > 40) {
        before_value({}, at);
        out_ += "null";
        return;
      }
      before_value({}, at);
      open(false, at.shape->maybe ? nullptr : at.shape);
      return end();
    case ShapeKind::kArray:
    case ShapeKind::kWords:
      return write_words({}, at, {});
    case ShapeKind::kText:
    case ShapeKind::kWord:
      return write_text({}, at, {});
    case ShapeKind::kInteger:
      return write_integer({}, at, 0);
    case ShapeKind::kReal:
      return write_real({}, at, 0);
    case ShapeKind::kTrueFalse:
      return write_boolean({}, at, false);
    case ShapeKind::kNumber:
      return write_number({}, at, std::nullopt, false);
    case ShapeKind::kRealNumber:
      return write_real_number({}, at, std::nullopt, false);
  }
}

void Document::text(std::string_view key, std::string_view value) {
  const Place at = place(key);
  if (!at.allowed) return;
  if (at.shape == nullptr) return write_text(key, at, value);
  // "10 sec" is 10.
  const auto number = [&] {
    return text::parse_unsigned(value.substr(0, value.find_first_not_of("0123456789")), INT64_MAX);
  };
  switch (at.shape->kind) {
    case ShapeKind::kWords:
      if (!levels_.back().array) return write_words(key, at, value);
      [[fallthrough]];
    case ShapeKind::kWord: {
      const auto& words = at.shape->words;
      if (std::find(words.begin(), words.end(), value) != words.end()) write_text(key, at, value);
      return;
    }
    case ShapeKind::kText:
      return write_text(key, at, value);
    case ShapeKind::kArray:
      return write_words(key, at, value);
    case ShapeKind::kInteger:
      return write_integer(key, at, static_cast<int64_t>(number().value_or(0)));
    case ShapeKind::kNumber:
      return write_number(key, at, number() ? std::optional<int64_t>(*number()) : std::nullopt,
                          value == "UNLIMITED" || value == "INFINITE");
    case ShapeKind::kTrueFalse:
      return write_boolean(key, at, value == "true" || value == "Yes" || value == "1");
    default:
      return;
  }
}

void Document::integer(std::string_view key, int64_t value) {
  const Place at = place(key);
  if (!at.allowed) return;
  if (at.shape == nullptr) return write_integer(key, at, value);
  switch (at.shape->kind) {
    case ShapeKind::kInteger:
      return write_integer(key, at, value);
    case ShapeKind::kNumber:
      return write_number(key, at, value, false);
    case ShapeKind::kReal:
      return write_real(key, at, static_cast<double>(value));
    case ShapeKind::kRealNumber:
      return write_real_number(key, at, static_cast<double>(value), false);
    case ShapeKind::kText:
      return write_text(key, at, std::to_string(value));
    case ShapeKind::kTrueFalse:
      return write_boolean(key, at, value != 0);
    default:
      return;
  }
}

void Document::boolean(std::string_view key, bool value) {
  const Place at = place(key);
  if (!at.allowed) return;
  if (at.shape == nullptr || at.shape->kind == ShapeKind::kTrueFalse) return write_boolean(key, at, value);
  if (at.shape->kind == ShapeKind::kInteger) return write_integer(key, at, value ? 1 : 0);
  if (at.shape->kind == ShapeKind::kText) return write_text(key, at, value ? "true" : "false");
}

void Document::real(std::string_view key, double value) {
  const Place at = place(key);
  if (!at.allowed) return;
  if (at.shape == nullptr || at.shape->kind == ShapeKind::kReal) return write_real(key, at, value);
  if (at.shape->kind == ShapeKind::kRealNumber) return write_real_number(key, at, value, std::isinf(value));
  if (at.shape->kind == ShapeKind::kInteger || at.shape->kind == ShapeKind::kNumber)
    return integer(key, std::isfinite(value) ? std::llround(value) : 0);
}

void Document::number(std::string_view key, std::optional<int64_t> value, bool infinite) {
  const Place at = place(key);
  if (!at.allowed) return;
  if (at.shape == nullptr || at.shape->kind == ShapeKind::kNumber)
    return write_number(key, at, value, infinite);
  if (at.shape->kind == ShapeKind::kRealNumber)
    return write_real_number(
        key, at, value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt, infinite);
  if (at.shape->kind == ShapeKind::kText && !value) return write_text(key, at, {});
  return integer(key, infinite ? 0 : value.value_or(0));
}

void Document::real_number(std::string_view key, std::optional<double> value, bool infinite) {
  const Place at = place(key);
  if (!at.allowed) return;
  if (at.shape == nullptr || at.shape->kind == ShapeKind::kRealNumber)
    return write_real_number(key, at, value, infinite);
  return real(key, infinite ? 0 : value.value_or(0));
}

std::string Document::take() {
  // In YAML the next separator depends on the last character written.
  std::string taken = std::exchange(out_, {});
  if (format_ == DocumentFormat::kYaml && !taken.empty() && taken.back() != '\n') {
    // A line end separates a value from the next text, whoever writes it. An open object or array that is
    // still empty needs its own line, too.
    if (!levels_.empty() && levels_.back().empty) {
      out_ = std::move(taken);
      return {};
    }
    taken += '\n';
  }
  return taken;
}

void Document::finish() {
  left_out_ = 0;
  while (!levels_.empty()) end();
  if (!out_.empty() && out_.back() != '\n') out_ += '\n';
}

}  // namespace minke::view
