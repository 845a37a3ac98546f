#include "config/own_commands.h"

#include "config/toml.h"
#include "text/printable.h"

namespace minke::config {
namespace {

constexpr size_t kMostWords = 64;

}  // namespace

Result<std::vector<std::string>> command_words(std::string_view file, const std::string& name) {
  const toml::parse_result parsed = toml::parse(file);
  if (!parsed)
    return failure("~/.config/minke/commands.toml line " +
                   std::to_string(parsed.error().source().begin.line) + ": " +
                   text::printable(std::string(parsed.error().description())));
  const std::string wanted =
      "~/.config/minke/commands.toml has no " + text::printable(name) + " = [\"PROGRAM\", \"ARGUMENT\", …]";
  const toml::array* list = parsed.table()[name].as_array();
  if (list == nullptr || list->empty() || list->size() > kMostWords) return failure(wanted);
  std::vector<std::string> words;
  for (const toml::node& one : *list) {
    const auto word = one.value_exact<std::string>();
    if (!word || word->find('\0') != std::string::npos) return failure(wanted);
    words.push_back(*word);
  }
  if (words.front().empty()) return failure(wanted);
  return words;
}

}  // namespace minke::config
