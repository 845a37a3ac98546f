// A table: the fields of a record, laid out by a format string of cli/columns.h. One kind of table serves
// jobs, steps and nodes.
//
// A field appends its value to the line that is being built; nothing is allocated per value, so that hundreds
// of thousands of lines print in a fraction of a second. Pure; a Table may be used by one thread at a time.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/printable.h"
#include "view/columns.h"
#include "view/text.h"

namespace minke::view {

template <typename Line>
struct TableField {
  char letter;            // of -o; '\0': none
  std::string_view name;  // of -O, in lower case
  std::string_view title;
  Overflow overflow;        // of the value
  Overflow title_overflow;  // of the title
  void (*append)(const Line& line, const DisplayContext& context, std::string& out);
};

template <typename Line>
const TableField<Line>* find_field(std::span<const TableField<Line>> fields, char letter) {
  for (const auto& field : fields)
    if (field.letter == letter && letter != '\0') return &field;
  return nullptr;
}
template <typename Line>
const TableField<Line>* find_field(std::span<const TableField<Line>> fields, std::string_view name) {
  for (const auto& field : fields)
    if (field.name == name) return &field;
  return nullptr;
}

template <typename Line>
class Table {
 public:
  using Fields = std::span<const TableField<Line>>;

  // Parses -o. An unknown field stays in the table as written, and is named in `problems`.
  static Table from_short_format(Fields fields, std::string_view format, std::vector<std::string>& problems) {
    Table table;
    FormatRequest parsed = parse_short_format(format);
    table.prefix_ = std::move(parsed.prefix);
    for (ColumnRequest& request : parsed.columns) {
      const TableField<Line>* field = request.field.empty() ? nullptr : find_field(fields, request.field[0]);
      if (field == nullptr) {
        problems.push_back(request.field);
        std::string literal(1, '%');
        literal += request.token;
        request = ColumnRequest();
        request.suffix = std::move(literal);
      }
      table.columns_.push_back({std::move(request), field});
    }
    return table;
  }

  // Parses -O. An unknown field is left out, and named in `problems`.
  static Table from_long_format(Fields fields, std::string_view format, std::vector<std::string>& problems) {
    Table table;
    for (ColumnRequest& request : parse_long_format(format).columns) {
      const TableField<Line>* field = find_field(fields, std::string_view(request.field));
      if (field == nullptr) {
        problems.push_back(request.token.substr(0, request.token.find(':')));  // as it was written
      } else {
        table.columns_.push_back({std::move(request), field});
      }
    }
    return table;
  }

  // %all: every field that has a letter, `separator` between them, and `end` after the last.
  static Table all(Fields fields, std::string_view separator, std::string_view end) {
    Table table;
    for (const auto& field : fields) {
      if (field.letter == '\0') continue;
      ColumnRequest request;
      request.suffix = std::string(separator);
      table.columns_.push_back({std::move(request), &field});
    }
    if (!table.columns_.empty()) table.columns_.back().request.suffix = std::string(end);
    return table;
  }

  void append_header(std::string& out) const {
    out += prefix_;
    for (const Column& column : columns_) {
      size_t start = out.size();
      if (column.field != nullptr) out += column.field->title;
      fit_column(out, start, column.request,
                 column.field != nullptr ? column.field->title_overflow : Overflow::kSpill);
    }
    out += '\n';
  }

  void append_line(const Line& line, const DisplayContext& context, std::string& out) const {
    out += prefix_;
    for (const Column& column : columns_) {
      size_t start = out.size();
      if (column.field != nullptr) column.field->append(line, context, out);
      text::make_printable(out, start);
      fit_column(out, start, column.request,
                 column.field != nullptr ? column.field->overflow : Overflow::kSpill);
    }
    out += '\n';
  }

  // Whether the table shows only these fields.
  bool shows_only(std::span<const std::string_view> field_names) const {
    for (const Column& column : columns_)
      if (column.field != nullptr &&
          std::find(field_names.begin(), field_names.end(), column.field->name) == field_names.end())
        return false;
    return true;
  }

  // Whether the table shows the field: this decides how sinfo groups nodes.
  bool shows(std::string_view field_name) const {
    for (const Column& column : columns_)
      if (column.field != nullptr && column.field->name == field_name) return true;
    return false;
  }

 private:
  struct Column {
    ColumnRequest request;
    const TableField<Line>* field = nullptr;  // nullptr: the suffix is literal text
  };
  std::string prefix_;
  std::vector<Column> columns_;
};

}  // namespace minke::view
