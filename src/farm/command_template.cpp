#include "farm/command_template.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "text/number.h"

namespace minke::farm {
namespace {

std::string_view base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view directory_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string_view without_extension(std::string_view path) {
  const size_t dot = path.rfind('.');
  const bool in_name = dot != std::string_view::npos && dot != 0 && path[dot - 1] != '/' &&
                       path.find('/', dot) == std::string_view::npos;
  return in_name ? path.substr(0, dot) : path;
}

std::optional<std::string> value_of(std::string_view name, const Values& values) {
  if (name.empty()) return values.whole;
  if (name == "#") return std::to_string(values.number);
  if (name == "/") return std::string(base_name(values.whole));
  if (name == "//") return std::string(directory_name(values.whole));
  if (name == ".") return std::string(without_extension(values.whole));
  if (name == "/.") return std::string(without_extension(base_name(values.whole)));
  const auto at = std::find(values.names.begin(), values.names.end(), name);
  if (at != values.names.end()) return values.columns[static_cast<size_t>(at - values.names.begin())];
  const auto number = text::parse_unsigned(name, values.columns.size());
  if (number && *number > 0) return values.columns[*number - 1];
  return std::nullopt;
}

// Passes on the pieces of a word: text as it is, and names between braces.
template <typename Text, typename Name>
Status for_each_piece(std::string_view word, const Text& on_text, const Name& on_name) {
  for (size_t i = 0; i < word.size();) {
    const char c = word[i];
    if ((c == '{' || c == '}') && i + 1 < word.size() && word[i + 1] == c) {
      on_text(word.substr(i, 1));
      i += 2;
      continue;
    }
    if (c != '{') {
      on_text(word.substr(i, 1));
      ++i;
      continue;
    }
    const size_t end = word.find('}', i);
    if (end == std::string_view::npos)
      return failure("a { without its } in \"" + std::string(word) + "\"; {{ stands for a brace");
    if (const Status done = on_name(word.substr(i + 1, end - i - 1)); !done) return done;
    i = end + 1;
  }
  return {};
}

}  // namespace

Result<CommandTemplate> CommandTemplate::make(std::vector<std::string> words) {
  if (words.empty() || words.front().empty()) return failure("no command: what runs a case stands behind --");
  bool has_names = false;
  for (const std::string& word : words) {
    const Status fine = for_each_piece(
        word, [](std::string_view) {},
        [&](std::string_view) -> Status {
          has_names = true;
          return {};
        });
    if (!fine) return failure(fine.error());
  }
  if (!has_names) words.emplace_back("{}");
  return CommandTemplate(std::move(words));
}

Result<std::vector<std::string>> CommandTemplate::fill(const Values& values) const {
  std::vector<std::string> filled;
  for (const std::string& word : words_) {
    std::string out;
    const Status done = for_each_piece(
        word, [&](std::string_view text) { out += text; },
        [&](std::string_view name) -> Status {
          const auto value = value_of(name, values);
          if (!value) {
            std::string known;
            for (const std::string& one : values.names) known += (known.empty() ? "" : ", ") + one;
            return failure("case " + std::to_string(values.number) + " has no column " + std::string(name) +
                           (known.empty() ? "" : "; it has " + known));
          }
          out += *value;
          return {};
        });
    if (!done) return failure(done.error());
    filled.push_back(std::move(out));
  }
  return filled;
}

}  // namespace minke::farm
