#include "submit/dead_directives.h"

#include <algorithm>
#include <optional>

#include "text/nearest.h"
#include "text/number.h"
#include "text/printable.h"

namespace minke::submit {
namespace {

constexpr size_t kMostWarnings = 3;
constexpr std::string_view kMagic = "#SBATCH";

// The word that ends a here document which the line begins; empty: it begins none.
std::string_view here_document(std::string_view line) {
  const size_t at = line.find("<<");
  if (at == std::string_view::npos || line.substr(at).starts_with("<<<")) return {};
  std::string_view rest = line.substr(at + 2);
  const size_t begin = rest.find_first_not_of(" \t-'\"\\");
  if (begin == std::string_view::npos) return {};
  rest.remove_prefix(begin);
  return rest.substr(0, rest.find_first_of(" \t'\";|&)>"));
}

// What stands behind a misspelt "#SBATCH", where it is an option; nothing: the line is a plain comment.
std::optional<std::string_view> misspelt(std::string_view line) {
  if (line.starts_with(kMagic)) return std::nullopt;
  const size_t option = line.find(" -");
  if (option == std::string_view::npos) return std::nullopt;
  // "# sbatch --array=0-9 job.sh" tells a reader how to submit it.
  const size_t begin = std::min(line.find_first_not_of('#'), option);
  const std::string_view between = line.substr(begin, option - begin);
  const bool has_small =
      std::any_of(between.begin(), between.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  if (has_small && between.find_first_of(" \t") != std::string_view::npos) return std::nullopt;
  std::string word;
  for (const char c : between)
    if (c != ' ' && c != '\t' && c != '#') word += text::to_upper(c);
  constexpr std::string_view kWord = "SBATCH";
  if (text::edit_distance(word.substr(0, 16), kWord) > 1) return std::nullopt;
  const std::string_view rest = text::trim(line.substr(option));
  const size_t first = rest.find_first_not_of('-');
  const bool is_option = first == 1 || first == 2;
  if (!is_option ||
      !((rest[first] >= 'a' && rest[first] <= 'z') || (rest[first] >= 'A' && rest[first] <= 'Z')))
    return std::nullopt;
  return rest;
}

}  // namespace

std::vector<std::string> dead_directives(std::string_view script, std::string_view name) {
  std::vector<std::string> out;
  size_t number = 0, more = 0;
  bool in_commands = false;
  std::string_view ends_here;
  const auto warn = [&](const std::string& what) {
    if (out.size() == kMostWarnings) {
      ++more;
      return;
    }
    out.push_back("warning: " + text::printable(name) + " line " + std::to_string(number) + ": " + what);
  };
  for (const std::string_view line : text::split(script, '\n')) {
    ++number;
    const std::string_view content = text::trim(line);
    if (!ends_here.empty()) {
      if (content == ends_here) ends_here = {};
      continue;
    }
    if (in_commands) {
      if (line.starts_with(kMagic) && line.find(" -") != std::string_view::npos)
        warn("\"" + text::printable(content) + "\" has no effect below the first command; move it up");
    } else if (line.starts_with("#$ -")) {
      warn("\"" + text::printable(content) +
           "\" is of Grid Engine, without effect here; write #SBATCH --time=…, "
           "--cpus-per-task=…");
    } else if (content.starts_with(kMagic) && !line.starts_with(kMagic)) {
      warn("\"" + text::printable(content) + "\" is indented, without effect; it must begin the line");
    } else if (const auto option = misspelt(content)) {
      warn("\"" + text::printable(content) + "\" is a comment, without effect; write #SBATCH " +
           text::printable(*option));
    }
    if (!content.empty() && content.front() != '#') {
      in_commands = true;
      ends_here = here_document(content);
    }
  }
  if (more > 0)
    out.push_back("warning: " + text::printable(name) + " has " + std::to_string(more) + " more such lines");
  return out;
}

}  // namespace minke::submit
