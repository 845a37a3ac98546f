#include "software/wheel_tables.h"

#include <algorithm>

namespace minke::software {
namespace {

using Cells = std::vector<std::string>;
using Rows = std::vector<Cells>;

std::string joined(const Cells& cells, std::string_view between) {
  std::string out;
  for (size_t i = 0; i < cells.size(); ++i) out.append(i == 0 ? "" : between).append(cells[i]);
  return out;
}

// Two blanks between columns, lines of dashes below the names.
std::string simple_table(const Cells& columns, const Rows& rows, bool with_dashes) {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns.size(); ++i) {
    size_t width = columns[i].size() + 2;  // as tabulate does
    for (const auto& row : rows) width = std::max(width, row[i].size());
    widths.push_back(width);
  }
  const auto line = [&](const Cells& cells) {
    std::string out;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) out += "  ";
      out += cells[i];
      if (i + 1 < cells.size()) out.append(widths[i] - cells[i].size(), ' ');
    }
    return out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
  };
  Cells dashes;
  for (const size_t width : widths) dashes.emplace_back(width, '-');
  std::string out = line(columns);
  if (with_dashes) out += line(dashes);
  for (const auto& row : rows) out += line(row);
  return out;
}

std::string github_table(const Cells& columns, const Rows& rows) {
  std::string out = "| " + joined(columns, " | ") + " |\n|";
  out += joined(Cells(columns.size(), "---"), "|") + "|\n";
  for (const Cells& row : rows) out += "| " + joined(row, " | ") + " |\n";
  return out;
}

std::string mediawiki_table(const Cells& columns, const Rows& rows) {
  std::string out = "{| class=\"wikitable\"\n|-\n! " + joined(columns, " !! ") + "\n";
  for (const Cells& row : rows) out += "|-\n| " + joined(row, " || ") + "\n";
  return out + "|}\n";
}

std::string tsv_table(const Cells& columns, const Rows& rows) {
  std::string out = joined(columns, "\t") + "\n";
  for (const Cells& row : rows) out += joined(row, "\t") + "\n";
  return out;
}

std::string csv_table(const Cells& columns, Rows rows) {
  std::string out = joined(columns, ",") + "\n";
  for (Cells& row : rows) {
    for (std::string& cell : row)
      if (cell.find(',') != std::string::npos) cell = "\"" + cell + "\"";
    out += joined(row, ",") + "\n";
  }
  return out;
}

}  // namespace

std::string format_table(std::string_view format, const Cells& columns, const Rows& rows) {
  if (format == "github") return github_table(columns, rows);
  if (format == "mediawiki") return mediawiki_table(columns, rows);
  if (format == "tsv") return tsv_table(columns, rows);
  if (format == "csv") return csv_table(columns, rows);
  return simple_table(columns, rows, format != "plain");
}

const Cells& file_name_columns() {
  static const Cells columns = {"name", "version", "localversion", "build", "python", "abi", "platform"};
  return columns;
}

std::string file_names(const Rows& rows) {
  std::string out;
  for (const Cells& row : rows) {
    if (row[1].empty()) continue;
    std::string python = row[4];
    std::replace(python.begin(), python.end(), ',', '.');
    out += row[0] + "-" + row[1] + (row[2].empty() ? "" : "+") + row[2] + (row[3].empty() ? "" : "-") +
           row[3] + "-" + python + "-" + row[5] + "-" + row[6] + ".whl\n";
  }
  return out;
}

}  // namespace minke::software
