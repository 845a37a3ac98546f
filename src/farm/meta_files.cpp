#include "farm/meta_files.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "text/number.h"

namespace minke::farm {
namespace {

std::string_view first_word(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  line.remove_prefix(begin);
  return line.substr(0, line.find_first_of(" \t"));
}

// Whether every line begins with a number, each larger than the one above.
bool is_numbered(const std::vector<std::string_view>& lines) {
  uint64_t last = 0;
  for (const std::string_view line : lines) {
    const auto number = text::parse_unsigned(first_word(line));
    if (!number || *number <= last) return false;
    last = *number;
  }
  return true;
}

Status check_line(std::string_view line, size_t number, const std::string& name) {
  const std::string where = name + ", line " + std::to_string(number) + ": ";
  if (text::trim(line).empty()) return failure(where + "it is empty: remove it");
  if (line.find('\0') != std::string_view::npos)
    return failure(where + "it has a NUL byte: is this a text file?");
  if (line.back() == '\r') return failure(where + "it ends as on Windows: run dos2unix " + name);
  return {};
}

// The value behind NAME=, without quotes and what follows it.
std::string_view value_of(std::string_view rest) {
  rest = text::trim(rest.substr(0, std::min(rest.find('#'), rest.find(';'))));
  if (rest.size() > 1 && (rest.front() == '"' || rest.front() == '\'') && rest.back() == rest.front())
    rest = rest.substr(1, rest.size() - 2);
  return rest;
}

std::optional<double> parse_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= 0) || number > 1e12)
    return std::nullopt;
  return number;
}

// False: this is no name of META's.
bool set(MetaConfig& config, std::string_view name, double value) {
  if (name == "NJOBS_MAX") {
    config.jobs_max = static_cast<uint32_t>(std::min(value, 4e9));
  } else if (name == "RUNTIME_MIN") {
    config.runtime_min = static_cast<int64_t>(value);
  } else if (name == "RUNTIME_MAX") {
    config.runtime_max = static_cast<int64_t>(value);
  } else if (name == "dt_failed") {
    config.dt_failed = value;
  } else if (name == "N_failed_max") {
    config.n_failed_max = static_cast<uint32_t>(std::min(value, 4e9));
  } else if (name == "WHOLE_NODE") {
    config.whole_node = value != 0;
  } else if (name == "NWHOLE") {
    config.n_whole = static_cast<uint32_t>(std::min(value, 4e9));
  } else {
    return false;
  }
  return true;
}

bool is_meta_name(std::string_view name) {
  MetaConfig unused;
  return set(unused, name, 1);
}

}  // namespace

Result<MetaTable> read_meta_table(std::string_view content, const std::string& name) {
  while (!content.empty() && (content.back() == '\n' || content.back() == ' ' || content.back() == '\t'))
    content.remove_suffix(1);
  if (content.empty()) return failure(name + " has no cases: write one in each line");
  const std::vector<std::string_view> lines = text::split(content, '\n');
  for (size_t i = 0; i < lines.size(); ++i)
    if (const Status fine = check_line(lines[i], i + 1, name); !fine) return failure(fine.error());
  MetaTable table;
  table.numbered = !is_numbered(lines);
  for (size_t i = 0; i < lines.size(); ++i) {
    table.ids.push_back(table.numbered ? std::to_string(i + 1) : std::string(first_word(lines[i])));
    if (table.numbered) table.content.append(table.ids.back()).append(" ");
    table.content.append(lines[i]).append("\n");
  }
  return table;
}

Result<MetaConfig> read_meta_config(std::string_view content) {
  MetaConfig config;
  size_t number = 0;
  for (std::string_view line : text::split(content, '\n')) {
    ++number;
    line = text::trim(line);
    if (line.starts_with("export ")) line = text::trim(line.substr(7));
    const size_t equals = line.find('=');
    if (line.empty() || line.front() == '#' || equals == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, equals), given = value_of(line.substr(equals + 1));
    if (!is_meta_name(name)) continue;
    const auto value = parse_number(given);
    if (!value)
      return failure("config.h, line " + std::to_string(number) + ": " + std::string(name) +
                     " must be a number, not \"" + std::string(given) + "\"");
    set(config, name, *value);
  }
  if (config.jobs_max == 0) return failure("config.h: NJOBS_MAX must be at least 1");
  if (config.whole_node && config.n_whole == 0) return failure("config.h: NWHOLE must be at least 1");
  return config;
}

uint64_t add_statuses(std::string_view content, std::map<std::string, int>& statuses) {
  uint64_t counted = 0;
  for (std::string_view line : text::split(content, '\n')) {
    const std::string_view id = first_word(line);
    if (id.empty()) continue;
    const std::string_view rest = text::trim(line.substr(line.find(id) + id.size()));
    const auto status = text::parse_unsigned(first_word(rest), 1 << 30);
    if (!status) continue;
    statuses[std::string(id)] = static_cast<int>(*status);
    ++counted;
  }
  return counted;
}

bool ByNumber::operator()(const std::string& a, const std::string& b) const {
  const auto first = text::parse_unsigned(a), second = text::parse_unsigned(b);
  if (first && second && *first != *second) return *first < *second;
  if (first.has_value() != second.has_value()) return first.has_value();
  return a < b;
}

}  // namespace minke::farm
