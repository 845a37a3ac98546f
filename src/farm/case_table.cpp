#include "farm/case_table.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "text/number.h"

namespace minke::farm {
namespace {

constexpr std::array<std::string_view, 4> kForms = {"lines", "csv", "tsv", "jsonl"};
constexpr size_t kLongestLine = size_t{1} << 20;

// Splits a row as RFC 4180 has it. Nothing: a quote is still open.
std::optional<std::vector<std::string>> split_row(std::string_view row, char separator) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < row.size(); ++i) {
    const char c = row[i];
    if (quoted) {
      if (c != '"') {
        cells.back() += c;
      } else if (i + 1 < row.size() && row[i + 1] == '"') {
        cells.back() += '"';
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"' && cells.back().empty()) {
      quoted = true;
    } else if (c == separator) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  if (quoted) return std::nullopt;
  return cells;
}

std::string dump(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string text_of(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : dump(value);
}

std::string joined(const std::vector<std::string>& cells, char separator) {
  std::string all;
  for (size_t i = 0; i < cells.size(); ++i)
    all.append(i == 0 ? "" : std::string(1, separator)).append(cells[i]);
  return all;
}

}  // namespace

std::string_view form_name(TableForm form) {
  return kForms[static_cast<size_t>(form)];
}

Result<TableForm> parse_form(std::string_view name) {
  for (size_t i = 0; i < kForms.size(); ++i)
    if (kForms[i] == name) return static_cast<TableForm>(i);
  return failure("a table is lines, csv, tsv or jsonl, not " + std::string(name));
}

TableForm form_of_name(std::string_view name) {
  if (name.ends_with(".csv")) return TableForm::kComma;
  if (name.ends_with(".tsv")) return TableForm::kTab;
  if (name.ends_with(".jsonl") || name.ends_with(".ndjson")) return TableForm::kObjects;
  return TableForm::kLines;
}

tl::unexpected<Error> TableReader::wrong(const std::string& what) const {
  return failure(name_ + ", line " + std::to_string(line_) + ": " + what);
}

Result<std::string> TableReader::take(std::string_view line) {
  ++line_;
  if (line.size() + begun_.size() > kLongestLine) return wrong("it is longer than 1 MiB");
  if (line.find('\0') != std::string_view::npos) return wrong("it has a NUL byte: is this a text file?");
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (form_ == TableForm::kComma || form_ == TableForm::kTab) return take_row(line);
  if (text::trim(line).empty()) return std::string();
  if (form_ == TableForm::kLines) return std::string(line);
  const auto object = nlohmann::json::parse(line, nullptr, false);
  if (object.is_discarded()) return wrong("it is not JSON; each line must be an object, as in {\"lr\": 0.1}");
  if (!object.is_object()) return wrong("it is not an object, as in {\"lr\": 0.1}");
  return std::string(text::trim(line));
}

Result<std::string> TableReader::take_row(std::string_view line) {
  if (begun_.empty() && text::trim(line).empty()) return std::string();
  if (begun_.empty()) row_line_ = line_;
  const std::string row = begun_.empty() ? std::string(line) : begun_ + "\n" + std::string(line);
  auto cells = split_row(row, form_ == TableForm::kComma ? ',' : '\t');
  begun_ = cells ? "" : row;
  if (!cells) return std::string();
  if (columns_.empty()) {
    std::vector<std::string> sorted = *cells;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) return wrong("two columns are called \"" + *twice + "\"");
    columns_ = std::move(*cells);
    return std::string();
  }
  if (cells->size() != columns_.size())
    return wrong("it has " + std::to_string(cells->size()) + " columns, and the first line has " +
                 std::to_string(columns_.size()));
  return dump(nlohmann::json(*cells));
}

Status TableReader::finish() const {
  if (begun_.empty()) return {};
  return failure(name_ + ", line " + std::to_string(row_line_) + ": its quote \" is never closed");
}

Result<Values> values_of(TableForm form, const std::vector<std::string>& columns, uint64_t number,
                         std::string_view kept) {
  Values values;
  values.number = number;
  if (form == TableForm::kLines) {
    values.whole = std::string(kept);
    for (std::string_view rest = kept; !(rest = text::trim(rest)).empty();) {
      const size_t end = std::min(rest.find_first_of(" \t"), rest.size());
      values.columns.emplace_back(rest.substr(0, end));
      rest.remove_prefix(end);
    }
    return values;
  }
  const auto content = nlohmann::json::parse(kept, nullptr, false);
  const bool fits = form == TableForm::kObjects ? content.is_object() : content.is_array();
  if (!fits) return failure("the farm's table is damaged at case " + std::to_string(number));
  if (form == TableForm::kObjects) {
    values.whole = std::string(kept);
    for (const auto& [name, value] : content.items()) {
      values.names.push_back(name);
      values.columns.push_back(text_of(value));
    }
    return values;
  }
  values.names = columns;
  for (const auto& cell : content) values.columns.push_back(text_of(cell));
  values.columns.resize(columns.size());
  values.whole = joined(values.columns, form == TableForm::kComma ? ',' : '\t');
  return values;
}

}  // namespace minke::farm
