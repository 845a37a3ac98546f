#include "view/document/document.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <utility>

namespace minke::view {
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

void Document::open(bool array) {
  levels_.push_back({array});
  if (format_ == DocumentFormat::kJson) {
    out_ += array ? '[' : '{';
  } else if (out_.ends_with(' ')) {
    out_.pop_back();  // the values are on lines of their own
  }
}

void Document::before_value(std::string_view key) {
  Level& level = levels_.back();
  if (format_ == DocumentFormat::kJson) {
    if (!level.empty) out_ += ',';
    out_ += '\n';
    indent(levels_.size());
  } else {
    if (!out_.empty() && out_.back() != '\n') out_ += '\n';
    indent(levels_.size() - 1);
    if (level.array) out_ += "- ";
  }
  level.empty = false;
  if (level.array) return;
  quoted(key);
  out_ += ": ";
}

void Document::begin_object(std::string_view key) {
  before_value(key);
  open(false);
}

void Document::begin_array(std::string_view key) {
  before_value(key);
  open(true);
}

void Document::end() {
  const Level level = levels_.back();
  levels_.pop_back();
  if (format_ == DocumentFormat::kJson) {
    if (!level.empty) {
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

void Document::text(std::string_view key, std::string_view value) {
  before_value(key);
  quoted(value);
}

void Document::integer(std::string_view key, int64_t value) {
  before_value(key);
  fmt::format_to(std::back_inserter(out_), "{}", value);
}

void Document::boolean(std::string_view key, bool value) {
  before_value(key);
  out_ += value ? "true" : "false";
}

void Document::real(std::string_view key, double value) {
  before_value(key);
  const size_t start = out_.size();
  fmt::format_to(std::back_inserter(out_), "{}", std::isfinite(value) ? value : 0.0);
  if (out_.find_first_of(".e", start) == std::string::npos) out_ += ".0";
}

void Document::number(std::string_view key, std::optional<int64_t> value, bool infinite) {
  begin_object(key);
  boolean("set", value.has_value() && !infinite);
  boolean("infinite", infinite);
  integer("number", infinite ? 0 : value.value_or(0));
  end();
}

void Document::real_number(std::string_view key, std::optional<double> value) {
  begin_object(key);
  boolean("set", value.has_value());
  boolean("infinite", false);
  real("number", value.value_or(0));
  end();
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
  while (!levels_.empty()) end();
  if (!out_.empty() && out_.back() != '\n') out_ += '\n';
}

}  // namespace minke::view
