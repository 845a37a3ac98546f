#include "text/slurm_conf.h"

#include <algorithm>
#include <cctype>

#include "text/number.h"

namespace minke::text {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
}

// Returns the line without its comment, and with "\#" as "#".
std::string without_comment(std::string_view line) {
  std::string out;
  for (const char c : line) {
    if (c == '#' && (out.empty() || out.back() != '\\')) break;
    if (c == '#') out.pop_back();
    out += c;
  }
  return out;
}

class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}

  // Returns the next word; nothing at the end of the line.
  Result<std::pair<std::string, std::string>> next() {
    const std::string name = take_while([](char c) { return is_of_name(c); });
    skip_blanks();
    if (equals_ignoring_case(name, "include") && !rest_.empty() && rest_.front() != '=')
      return std::pair{name, value()};
    // "+=" and the like change one of several values; no parameter here takes them.
    if (name.empty() || rest_.empty() || rest_.front() != '=')
      return failure("\"" + (name.empty() ? std::string(rest_) : name) + "\" is not of the form Name=value");
    rest_.remove_prefix(1);
    skip_blanks();
    if (!rest_.empty() && rest_.front() == '"' && rest_.find('"', 1) == std::string_view::npos)
      return failure(name + " lacks the quote at its end");
    return std::pair{name, value()};
  }
  bool at_end() {
    skip_blanks();
    return rest_.empty();
  }

 private:
  template <typename Of>
  std::string take_while(Of of) {
    const auto* const end = std::find_if_not(rest_.begin(), rest_.end(), of);
    std::string taken(rest_.begin(), end);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  void skip_blanks() { take_while(is_blank); }
  std::string value() {
    if (rest_.empty() || rest_.front() != '"') return take_while([](char c) { return !is_blank(c); });
    rest_.remove_prefix(1);
    std::string quoted = take_while([](char c) { return c != '"'; });
    rest_.remove_prefix(std::min<size_t>(1, rest_.size()));
    return quoted;
  }

  std::string_view rest_;
};

}  // namespace

Result<std::vector<SlurmConfLine>> parse_slurm_conf(std::string_view text) {
  std::vector<SlurmConfLine> lines;
  std::string joined;
  uint32_t number = 0, first = 0;
  const auto split_lines = split(text, '\n');
  for (const std::string_view line : split_lines) {
    ++number;
    if (line.find('\0') != std::string_view::npos)
      return failure(std::to_string(number) + ": there is a zero byte");
    if (joined.empty()) first = number;
    joined += without_comment(line);
    while (!joined.empty() && joined.back() == '\r') joined.pop_back();
    if (!joined.empty() && joined.back() == '\\' && number < split_lines.size()) {
      joined.back() = ' ';
      continue;
    }
    SlurmConfLine parsed{.number = first, .words = {}};
    for (Words words(joined); !words.at_end();) {
      auto word = words.next();
      if (!word) return failure(std::to_string(first) + ": " + word.error().message);
      parsed.words.push_back(std::move(*word));
    }
    if (!parsed.words.empty()) lines.push_back(std::move(parsed));
    joined.clear();
  }
  return lines;
}

}  // namespace minke::text
