#include "submit/multi_prog.h"

#include <algorithm>
#include <numeric>

#include "text/number.h"

namespace minke::submit {
namespace {

struct Line {
  std::string text;
  size_t number = 0;  // of its first line in the file
};

std::vector<Line> logical_lines(std::string_view content) {
  std::vector<Line> lines;
  size_t number = 0;
  bool goes_on = false;
  while (!content.empty()) {
    std::string_view line = content.substr(0, content.find('\n'));
    content.remove_prefix(std::min(content.size(), line.size() + 1));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!goes_on) lines.push_back({"", number});
    goes_on = line.ends_with('\\');
    if (goes_on) line.remove_suffix(1);
    lines.back().text += line;
  }
  return lines;
}

// Returns the words of a command line as the task sees them. %t and %o are numbers only outside single
// quotes; a double quote is a plain character.
std::vector<std::string> words_of(std::string_view line, uint32_t task, size_t offset) {
  std::vector<std::string> words;
  bool in_word = false, quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i], next = i + 1 < line.size() ? line[i + 1] : '\0';
    if (!quoted && (c == ' ' || c == '\t')) {
      in_word = false;
      continue;
    }
    if (!std::exchange(in_word, true)) words.emplace_back();
    if (c == '\'') {
      quoted = !quoted;
    } else if (!quoted && c == '\\' && next != '\0') {
      words.back().push_back(line[++i]);
    } else if (!quoted && c == '%' && (next == 't' || next == 'o')) {
      words.back() += std::to_string(next == 't' ? task : offset);
      ++i;
    } else {
      words.back().push_back(c);
    }
  }
  return words;
}

// Returns the tasks that a line names, in its order. Fails, as Slurm does, beyond the step's tasks.
Result<std::vector<uint32_t>> parse_tasks(std::string_view text, uint32_t tasks) {
  std::vector<uint32_t> numbers;
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  for (const std::string_view part : text::split(text, ',')) {
    const size_t dash = part.find('-');
    const auto first = text::parse_unsigned(part.substr(0, dash), UINT32_MAX);
    const auto last =
        dash == std::string_view::npos ? first : text::parse_unsigned(part.substr(dash + 1), UINT32_MAX);
    if (!first || !last) return failure("Invalid task range specification (" + std::string(part) + ")");
    if (*first > *last) return failure("Invalid task range, " + std::string(part));
    if (*last >= tasks) return failure("Invalid task id, " + std::to_string(*last) + " >= ntasks");
    for (uint64_t task = *first; task <= *last; ++task) numbers.push_back(static_cast<uint32_t>(task));
  }
  return numbers;
}

}  // namespace

Result<std::vector<std::vector<std::string>>> parse_multi_prog(std::string_view content,
                                                               const std::string& name, uint32_t tasks) {
  std::vector<std::vector<std::string>> programs(tasks);
  bool rest_is_named = false;
  for (const Line& line : logical_lines(content)) {
    std::string_view rest = line.text;
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" \t")));
    if (rest.empty() || rest.front() == '#') continue;
    const std::string_view set = rest.substr(0, rest.find_first_of(" \t"));
    rest.remove_prefix(set.size());
    const auto invalid = [&](const std::string& why) {
      return failure(why + (why.empty() ? "Line " : "\nLine ") + std::to_string(line.number) +
                     " of configuration file " + name + " invalid");
    };
    if (rest_is_named) return invalid("Task range specification with asterisk must be last");
    if (rest.find_first_not_of(" \t") == std::string_view::npos) return invalid("");
    std::vector<uint32_t> here;
    rest_is_named = set == "*";
    if (rest_is_named) {
      here.resize(tasks);
      std::iota(here.begin(), here.end(), 0);
    } else {
      auto parsed = parse_tasks(set, tasks);
      if (!parsed) return invalid(parsed.error().message);
      here = std::move(*parsed);
    }
    for (size_t offset = 0; offset < here.size(); ++offset) {
      std::vector<std::string>& program = programs[here[offset]];
      if (!program.empty() && rest_is_named) continue;
      if (!program.empty()) return invalid("Duplicate record for task " + std::to_string(here[offset]));
      program = words_of(rest, here[offset], offset);
    }
  }
  for (uint32_t task = 0; task < tasks; ++task) {
    if (programs[task].empty()) {
      return failure("Configuration file " + name + " invalid, no record for task id " +
                     std::to_string(task));
    }
  }
  return programs;
}

}  // namespace minke::submit
