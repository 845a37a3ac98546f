// The fields of sacct, sstat, sshare and sreport: fixed widths, with "+" if a text is
// cut, or delimited.
//
// squeue and sinfo use another way, cli/columns.h. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/nearest.h"
#include "text/number.h"
#include "text/printable.h"

namespace minke::view {

// How to write a value that is too wide for its column.
enum class PrintFit { kPlus, kCut, kSpill };
enum class PrintLayout { kFixed, kParsable, kParsable2 };

template <typename Line, typename Context>
struct PrintField {
  std::string_view name;  // of --format
  int width;              // negative: left-justified
  PrintFit fit;
  void (*append)(const Line& line, const Context& context, std::string& out);
  std::string_view title = {};  // empty: the name

  std::string_view heading() const { return title.empty() ? name : title; }
};

template <typename Field>
struct PrintColumn {
  const Field* field = nullptr;
  int width = 0;
};

// Fits the text of `out` from `start` on; width 0 removes the value.
void fit_print_value(std::string& out, size_t start, int width, PrintFit fit);
// Parses the width behind a name: "20", "-20". As in Slurm it reads leading digits; anything else is 0.
int parse_print_width(std::string_view text);
// Returns each `name` padded to `width`, four on each line.
std::string print_help_format(std::span<const std::string_view> names, size_t width);

// sacct and sstat read a list of fields up to the first that is empty: "jobid,,state" is "jobid".
std::string_view before_empty_field(std::string_view format);

// "jobid,state%20, jobname%-5,all"; names may be shortened. Fails: Invalid field requested: "foo".
template <typename Field>
Result<std::vector<PrintColumn<Field>>> parse_print_format(std::span<const Field> fields,
                                                           std::string_view format) {
  std::vector<PrintColumn<Field>> columns;
  for (std::string_view item : text::split(format, ',')) {
    item.remove_prefix(std::min(item.find_first_not_of(" \t"), item.size()));
    if (item.empty()) continue;
    const size_t percent = item.find('%');
    const std::string_view name = item.substr(0, percent);
    if (text::equals_ignoring_case(name, "all")) {
      for (const Field& field : fields) columns.push_back({&field, field.width});
      continue;
    }
    const Field* found = nullptr;
    for (const Field& field : fields) {
      if (text::equals_ignoring_case(field.name, name)) {
        found = &field;
        break;
      }
      if (found == nullptr && !name.empty() && text::starts_with_ignoring_case(field.name, name))
        found = &field;
    }
    if (found == nullptr) {
      std::vector<std::string_view> names;
      for (const Field& field : fields) names.emplace_back(field.name);
      const std::string_view meant = text::nearest(name, names);
      return failure("Invalid field requested: \"" + std::string(name) + "\"" +
                     (meant.empty() ? "" : " (did you mean " + std::string(meant) + "?)"));
    }
    columns.push_back({found, percent == std::string_view::npos
                                  ? found->width
                                  : parse_print_width(item.substr(percent + 1))});
  }
  return columns;
}

template <typename Field>
void append_print_header(std::span<const PrintColumn<Field>> columns, PrintLayout layout,
                         std::string_view delimiter, std::string& out) {
  for (size_t i = 0; i < columns.size(); ++i) {
    const size_t start = out.size();
    out += columns[i].field->heading();
    if (layout == PrintLayout::kFixed) {
      fit_print_value(out, start, columns[i].width, PrintFit::kCut);
      out += ' ';
    } else if (layout == PrintLayout::kParsable || i + 1 < columns.size()) {
      out += delimiter;
    }
  }
  out += '\n';
  if (layout != PrintLayout::kFixed) return;
  for (const PrintColumn<Field>& column : columns) {
    out.append(static_cast<size_t>(column.width < 0 ? -column.width : column.width), '-');
    out += ' ';
  }
  out += '\n';
}

template <typename Field, typename Line, typename Context>
void append_print_line(std::span<const PrintColumn<Field>> columns, PrintLayout layout,
                       std::string_view delimiter, const Line& line, const Context& context,
                       std::string& out) {
  for (size_t i = 0; i < columns.size(); ++i) {
    const size_t start = out.size();
    columns[i].field->append(line, context, out);
    text::make_printable(out, start);
    if (layout == PrintLayout::kFixed) {
      fit_print_value(out, start, columns[i].width, columns[i].field->fit);
      out += ' ';
    } else if (layout == PrintLayout::kParsable || i + 1 < columns.size()) {
      out += delimiter;
    }
  }
  out += '\n';
}

}  // namespace minke::view
