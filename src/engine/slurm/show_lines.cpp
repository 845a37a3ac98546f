#include "engine/slurm/show_lines.h"

#include <algorithm>
#include <cctype>

#include "text/duration.h"
#include "text/number.h"
#include "text/timestamp.h"

namespace minke::engine::slurm {
namespace {

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '/' || c == ':' || c == '-';
}

// Where the next "Name=" begins, at or behind `from`, after a blank or at the beginning; npos: nowhere.
size_t next_name(std::string_view line, size_t from) {
  for (size_t equals = line.find('=', from); equals != std::string_view::npos;
       equals = line.find('=', equals + 1)) {
    size_t begin = equals;
    while (begin > from && is_of_name(line[begin - 1])) --begin;
    const bool is_word = begin == 0 || line[begin - 1] == ' ';
    if (begin < equals && is_word && std::isalpha(static_cast<unsigned char>(line[begin])) != 0) return begin;
  }
  return std::string_view::npos;
}

}  // namespace

ShownRecord::ShownRecord(std::string_view line) {
  for (size_t at = next_name(line, 0); at != std::string_view::npos;) {
    const size_t equals = line.find('=', at), next = next_name(line, equals + 1);
    const std::string_view value = line.substr(equals + 1, next == line.npos ? line.npos : next - equals - 1);
    values_.emplace(line.substr(at, equals - at), minke::text::trim(value));
    at = next;
  }
}

std::string ShownRecord::text(std::string_view name) const {
  const auto found = values_.find(std::string(name));
  if (found == values_.end()) return {};
  for (const std::string_view nothing : {"(null)", "N/A", "n/a", "n/s"}) {
    if (found->second == nothing) return {};
  }
  return found->second;
}

uint64_t ShownRecord::number(std::string_view name) const {
  return minke::text::parse_unsigned(text(name)).value_or(0);
}

uint32_t ShownRecord::count(std::string_view name) const {
  const std::string value = text(name);
  if (value == "UNLIMITED" || value == "INFINITE") return minke::text::kUnlimited;
  return static_cast<uint32_t>(minke::text::parse_unsigned(value, 0xfffffffd).value_or(0));
}

uint32_t ShownRecord::minutes(std::string_view name) const {
  return minke::text::parse_minutes(text(name)).value_or(0);
}

int64_t ShownRecord::time(std::string_view name) const {
  constexpr uint64_t kFirst = 100'000'000, kLatest = uint64_t{1} << 40;
  const std::string value = text(name);
  if (const auto plain = minke::text::parse_unsigned(value, kLatest); plain && *plain >= kFirst)
    return static_cast<int64_t>(*plain);
  if (value.size() < 10 || !minke::text::is_digit(value.front())) return 0;
  return std::max<int64_t>(minke::text::parse_time(value, 0).value_or(0), 0);
}

bool ShownRecord::yes(std::string_view name) const {
  return minke::text::equals_ignoring_case(text(name), "YES");
}

}  // namespace minke::engine::slurm
