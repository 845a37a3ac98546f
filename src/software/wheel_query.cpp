#include "software/wheel_query.h"

#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "software/version.h"
#include "text/number.h"

namespace minke::software {

namespace {

// Normalizes a package's name for comparison: case, and which of -_. is written, do not matter.
std::string plain_name(std::string_view name) {
  std::string out = text::lower_case(name);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '.' || c == '_'; }, '-');
  return out;
}

struct Pattern {
  std::string text, name;                                     // as given; for comparing
  std::vector<std::pair<std::string, std::string>> versions;  // operator and version
};

Result<Pattern> parse_pattern(const std::string& given) {
  Pattern pattern{given, {}, {}};
  const size_t end = std::min(given.find_first_of("=<>~!"), given.size());
  std::string name(text::trim(given.substr(0, end)));
  pattern.name = plain_name(name.substr(0, name.find('[')));  // the file's name has no extras
  if (end == given.size()) return pattern;
  for (std::string_view one : text::split(std::string_view(given).substr(end), ',')) {
    one = text::trim(one);
    const size_t digits = std::min(one.find_first_not_of("=<>~!"), one.size());
    const std::string sign(one.substr(0, digits)), version(text::trim(one.substr(digits)));
    static const std::set<std::string> signs = {"==", "===", "<", ">", "~=", "<=", ">=", "!="};
    if (!signs.contains(sign) || version.empty()) return failure("no comparison of versions: " + given);
    pattern.versions.emplace_back(sign, version);
  }
  return pattern;
}

bool satisfies(const std::string& version, const std::string& sign, const std::string& wanted) {
  const std::string plain = version.substr(0, version.find('+'));  // +computecanada says where it was built
  if (wanted.ends_with(".*")) {
    const bool within = names_version(wanted.substr(0, wanted.size() - 2), plain);
    return sign == "!=" ? !within : within;
  }
  const int order = compare_versions(plain, wanted);
  if (sign == "==" || sign == "===") return order == 0 || version == wanted;
  if (sign == "!=") return order != 0;
  if (sign == "<") return order < 0;
  if (sign == "<=") return order <= 0;
  if (sign == ">") return order > 0;
  const bool at_least = order >= 0;
  if (sign == ">=") return at_least;
  const size_t last = wanted.rfind('.');  // ~=1.4.2: at least that, within 1.4
  return at_least && last != std::string::npos && names_version(wanted.substr(0, last), plain);
}

// Whether a wheel for these Pythons ("cp311", "py2.py3") is for Python `version` ("3.11").
bool fits_python(const Wheel& wheel, const std::string& version) {
  std::string digits = version;
  std::erase(digits, '.');
  for (const std::string_view tag : text::split(wheel.python, '.')) {
    if (tag == "py3" || tag == "cp" + digits || tag == "py" + digits) return true;
    // The stable interface works for its version, and all later ones.
    if (wheel.abi == "abi3" && tag.starts_with("cp3")) {
      const auto since = text::parse_unsigned(tag.substr(3), 1000);
      const size_t dot = version.find('.');
      const auto minor = text::parse_unsigned(
          std::string_view(version).substr(dot == std::string::npos ? version.size() : dot + 1), 1000);
      if (since && minor && version.starts_with("3.") && *minor >= *since) return true;
    }
  }
  return false;
}

std::string commas(std::string text) {
  std::replace(text.begin(), text.end(), '.', ',');
  return text;
}

std::string cell(const Wheel& wheel, const std::string& column) {
  const size_t plus = wheel.version.find('+');
  if (column == "name") return wheel.name;
  if (column == "version") return wheel.version.substr(0, plus);
  if (column == "localversion") return plus == std::string::npos ? "" : wheel.version.substr(plus + 1);
  if (column == "build") return wheel.build;
  if (column == "python") return commas(wheel.python);
  if (column == "abi") return wheel.abi;
  if (column == "platform") return wheel.platform;
  return "generic";  // arch: works on every processor of its kind
}

// Whether it matches the query's Python and version.
bool fits(const Wheel& wheel, const WheelQuery& query) {
  const bool python =
      query.pythons.empty() || std::any_of(query.pythons.begin(), query.pythons.end(),
                                           [&](const std::string& one) { return fits_python(wheel, one); });
  if (!python || query.version.empty()) return python;
  const std::string version = wheel.version.substr(0, wheel.version.find('+'));
  return ::fnmatch(query.version.c_str(), version.c_str(), 0) == 0;
}

bool matches(const Wheel& wheel, const Pattern& pattern) {
  return ::fnmatch(pattern.name.c_str(), plain_name(wheel.name).c_str(), 0) == 0 &&
         std::all_of(pattern.versions.begin(), pattern.versions.end(),
                     [&](const auto& one) { return satisfies(wheel.version, one.first, one.second); });
}

// Sorts by name, the newest version first.
void sort_wheels(std::vector<const Wheel*>& wheels) {
  std::stable_sort(wheels.begin(), wheels.end(), [](const Wheel* a, const Wheel* b) {
    const std::string x = plain_name(a->name), y = plain_name(b->name);
    if (x != y) return x < y;
    return compare_versions(a->version, b->version) > 0;
  });
}

// Keeps the first one of each name and Python.
void keep_first(std::vector<const Wheel*>& wheels) {
  std::set<std::string> seen;
  std::erase_if(wheels, [&](const Wheel* wheel) {
    return !seen.insert(plain_name(wheel->name) + " " + wheel->python).second;
  });
}

using Rows = std::vector<std::vector<std::string>>;

// Merges rows that differ only in their Python.
void add_condensed(std::vector<std::string> row, size_t python, Rows& rows) {
  if (!rows.empty()) {
    std::vector<std::string> last = rows.back(), same = row;
    last[python].clear();
    same[python].clear();
    if (last == same) {
      if (rows.back()[python] != row[python]) rows.back()[python] += "," + row[python];
      return;
    }
  }
  rows.push_back(std::move(row));
}

// A pattern without a match has a row with only its name.
std::vector<std::string> row_of(const Pattern& pattern, const std::vector<std::string>& columns) {
  std::vector<std::string> row;
  for (const std::string& column : columns)
    row.push_back(column == "name" ? pattern.text.substr(0, pattern.text.find_first_of("=<>~![ ")) : "");
  return row;
}

Result<std::vector<Pattern>> parse_query(const WheelQuery& query) {
  static const std::set<std::string> columns = {"name",   "version", "localversion", "build",
                                                "python", "abi",     "platform",     "arch"};
  for (const std::string& column : query.columns) {
    if (!columns.contains(column)) return failure("no column is called " + column);
  }
  std::vector<Pattern> patterns;
  for (const std::string& text : query.patterns) {
    auto pattern = parse_pattern(text);
    if (!pattern) return failure(pattern.error());
    patterns.push_back(std::move(*pattern));
  }
  return patterns;
}

}  // namespace

Result<std::vector<std::vector<std::string>>> query_wheels(const std::vector<Wheel>& wheels,
                                                           const WheelQuery& query) {
  const auto patterns = parse_query(query);
  if (!patterns) return failure(patterns.error());
  std::vector<bool> met(patterns->size());
  std::vector<const Wheel*> chosen;
  for (const Wheel& wheel : wheels) {
    if (!fits(wheel, query)) continue;
    bool wanted = patterns->empty();
    for (size_t i = 0; i < patterns->size(); ++i) {
      if (matches(wheel, (*patterns)[i])) wanted = met[i] = true;
    }
    if (wanted) chosen.push_back(&wheel);
  }
  sort_wheels(chosen);
  if (!query.all_versions && query.version.empty()) keep_first(chosen);
  if (query.only_not_available) chosen.clear();
  const auto python = std::find(query.columns.begin(), query.columns.end(), "python");
  Rows rows;
  for (const Wheel* wheel : chosen) {
    std::vector<std::string> row;
    for (const std::string& column : query.columns) row.push_back(cell(*wheel, column));
    if (query.condense && python != query.columns.end()) {
      add_condensed(std::move(row), static_cast<size_t>(python - query.columns.begin()), rows);
    } else {
      rows.push_back(std::move(row));
    }
  }
  for (size_t i = 0; i < met.size() && (query.not_available || query.only_not_available); ++i) {
    if (!met[i]) rows.push_back(row_of((*patterns)[i], query.columns));
  }
  return rows;
}

}  // namespace minke::software
