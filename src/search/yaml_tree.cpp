// The only source that sees libyaml.
#include "search/yaml_tree.h"

#include <yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>

namespace minke::search {

namespace {

constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxNodes = 100000;

std::string at_line(uint32_t line, const std::string& what) {
  return "line " + std::to_string(line) + ": " + what;
}

class Reader {
 public:
  explicit Reader(std::string_view text) {
    MINKE_CHECK(yaml_parser_initialize(&parser_) == 1);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~Reader() { yaml_parser_delete(&parser_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Result<YamlNode> document() {
    for (;;) {
      auto event = next();
      if (!event) return failure(event.error());
      if ((*event)->type == YAML_STREAM_END_EVENT) return YamlNode{};
      if ((*event)->type != YAML_DOCUMENT_START_EVENT) continue;
      auto first = next();
      if (!first) return failure(first.error());
      auto root = node(**first, 0);
      if (!root) return root;
      for (;;) {
        auto after = next();
        if (!after) return failure(after.error());
        if ((*after)->type == YAML_STREAM_END_EVENT) return root;
        if ((*after)->type == YAML_DOCUMENT_START_EVENT)
          return failure(at_line(line_of(**after), "a sweep file is one document"));
      }
    }
  }

 private:
  struct Drop {
    void operator()(yaml_event_t* event) const {
      yaml_event_delete(event);
      delete event;
    }
  };
  using Event = std::unique_ptr<yaml_event_t, Drop>;

  static uint32_t line_of(const yaml_event_t& event) {
    return static_cast<uint32_t>(event.start_mark.line + 1);
  }

  Result<Event> next() {
    auto* raw = new yaml_event_t{};
    if (yaml_parser_parse(&parser_, raw) != 1) {
      delete raw;
      const bool bytes = parser_.error == YAML_READER_ERROR;
      const auto line = static_cast<uint32_t>((bytes ? parser_.mark.line : parser_.problem_mark.line) + 1);
      const std::string what = parser_.problem != nullptr ? parser_.problem : "no YAML";
      return failure(at_line(line, what));
    }
    return Event(raw);
  }

  Result<YamlNode> node(const yaml_event_t& event, size_t depth) {
    YamlNode made;
    made.line = line_of(event);
    if (++nodes_ > kMaxNodes) return failure(at_line(made.line, "that is too much for a sweep file"));
    if (depth > kMaxDepth) return failure(at_line(made.line, "it is nested too deeply"));
    const yaml_char_t* anchor = nullptr;
    Status filled;
    switch (event.type) {
      case YAML_ALIAS_EVENT:
        return alias(event, made.line);
      case YAML_SCALAR_EVENT:
        anchor = event.data.scalar.anchor;
        made.text.assign(reinterpret_cast<const char*>(event.data.scalar.value), event.data.scalar.length);
        made.quoted = event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        break;
      case YAML_SEQUENCE_START_EVENT:
        anchor = event.data.sequence_start.anchor;
        made.kind = YamlNode::Kind::kList;
        filled = list(made, depth);
        break;
      case YAML_MAPPING_START_EVENT:
        anchor = event.data.mapping_start.anchor;
        made.kind = YamlNode::Kind::kMap;
        filled = map(made, depth);
        break;
      default:
        return failure(at_line(made.line, "there is no value"));
    }
    if (!filled) return failure(filled.error());
    if (anchor != nullptr) anchors_[reinterpret_cast<const char*>(anchor)] = made;
    return made;
  }

  Result<YamlNode> alias(const yaml_event_t& event, uint32_t line) {
    const std::string name = reinterpret_cast<const char*>(event.data.alias.anchor);
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) return failure(at_line(line, "nothing is called &" + name));
    nodes_ += count(found->second);
    if (nodes_ > kMaxNodes) return failure(at_line(line, "that is too much for a sweep file"));
    return found->second;
  }
  static size_t count(const YamlNode& node) {
    size_t sum = 1;
    for (const YamlNode& item : node.items) sum += count(item);
    for (const auto& [key, value] : node.pairs) sum += count(value);
    return sum;
  }

  Status list(YamlNode& made, size_t depth) {
    for (;;) {
      auto event = next();
      if (!event) return failure(event.error());
      if ((*event)->type == YAML_SEQUENCE_END_EVENT) return {};
      auto item = node(**event, depth + 1);
      if (!item) return failure(item.error());
      made.items.push_back(std::move(*item));
    }
  }

  Status map(YamlNode& made, size_t depth) {
    for (;;) {
      auto event = next();
      if (!event) return failure(event.error());
      if ((*event)->type == YAML_MAPPING_END_EVENT) return {};
      const uint32_t line = line_of(**event);
      if ((*event)->type != YAML_SCALAR_EVENT) return failure(at_line(line, "a key is a word"));
      const std::string key(reinterpret_cast<const char*>((*event)->data.scalar.value),
                            (*event)->data.scalar.length);
      auto following = next();
      if (!following) return failure(following.error());
      auto value = node(**following, depth + 1);
      if (!value) return failure(value.error());
      if (key == "<<") {
        if (const Status merged = merge(made, *value, line); !merged) return merged;
        continue;
      }
      if (made.find(key) != nullptr) return failure(at_line(line, "\"" + key + "\" is there already"));
      made.pairs.emplace_back(key, std::move(*value));
      made.key_lines.push_back(line);
    }
  }
  static Status merge(YamlNode& made, const YamlNode& other, uint32_t line) {
    if (other.kind != YamlNode::Kind::kMap) return failure(at_line(line, "<< takes a mapping"));
    for (const auto& [key, value] : other.pairs) {
      if (made.find(key) != nullptr) continue;
      made.pairs.emplace_back(key, value);
      made.key_lines.push_back(line);
    }
    return {};
  }

  yaml_parser_t parser_{};
  size_t nodes_ = 0;
  std::map<std::string, YamlNode> anchors_;
};

std::optional<double> real_of(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
  const char* begin = text.data();
  const char* end = begin + text.size();
  if (begin != end && *begin == '+') ++begin;
  double number = 0;
  const auto [stop, problem] = std::from_chars(begin, end, number);
  if (stop != end || begin == end || problem != std::errc()) return std::nullopt;
  if (!std::isfinite(number)) return std::nullopt;  // "inf" and "nan" are words
  return number;
}

std::optional<int64_t> whole_of(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
  const bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) text.erase(0, 1);
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.erase(0, 2);
  } else if (text.size() > 1 && text.front() == '0') {
    base = 8;
  }
  if (text.empty() || text.front() == '-') return std::nullopt;
  int64_t number = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (stop != text.data() + text.size() || problem != std::errc()) return std::nullopt;
  return minus ? -number : number;
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const auto& [name, value] : pairs) {
    if (name == key) return &value;
  }
  return nullptr;
}

Value YamlNode::value() const {
  if (kind != Kind::kScalar) return Compound{json()};
  if (quoted) return text;
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return std::monostate{};
  if (is_one_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})) return true;
  if (is_one_of(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})) return false;
  if (const auto whole = whole_of(text)) return *whole;
  if (const auto real = real_of(text)) return *real;
  if (is_one_of(text, {".nan", ".NaN", ".NAN"})) return std::numeric_limits<double>::quiet_NaN();
  if (is_one_of(text, {".inf", "+.inf", ".Inf", ".INF"})) return std::numeric_limits<double>::infinity();
  if (is_one_of(text, {"-.inf", "-.Inf", "-.INF"})) return -std::numeric_limits<double>::infinity();
  return text;
}

std::string YamlNode::json() const {
  if (kind == Kind::kScalar) return json_of(value());
  std::string out;
  for (const YamlNode& item : items) out += (out.empty() ? "" : ",") + item.json();
  for (const auto& [key, value] : pairs)
    out += (out.empty() ? "" : ",") + json_string(key) + ":" + value.json();
  return kind == Kind::kList ? "[" + out + "]" : "{" + out + "}";
}

Result<YamlNode> read_yaml(std::string_view text) {
  if (text.size() > kMaxYamlBytes) return failure("a sweep file has 1 MiB at most");
  Reader reader(text);
  return reader.document();
}

}  // namespace minke::search
