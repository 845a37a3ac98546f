// The forms that a table of cases may have, and the one that a farm keeps: a line for each case. Pure; any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "farm/command_template.h"

namespace minke::farm {

enum class TableForm {
  kLines,    // a case is a line
  kComma,    // comma-separated values; the first line has the columns' names
  kTab,      // the same with tabs
  kObjects,  // JSON Lines: an object in each
};
std::string_view form_name(TableForm form);
// "lines", "csv", "tsv", "jsonl".
Result<TableForm> parse_form(std::string_view name);
// By the file's name: .csv, .tsv, .jsonl, .ndjson; else lines.
TableForm form_of_name(std::string_view name);

// Reads a table line by line.
class TableReader {
 public:
  TableReader(TableForm form, std::string name) : form_(form), name_(std::move(name)) {}
  // Takes the next line, without its end. Returns the line to keep; empty: it is no case (a header, a blank
  // line of plain lines, a part of a longer row). Error: names the line.
  Result<std::string> take(std::string_view line);
  Status finish() const;  // error: the last row is not complete
  const std::vector<std::string>& columns() const { return columns_; }

 private:
  tl::unexpected<Error> wrong(const std::string& what) const;
  Result<std::string> take_row(std::string_view line);

  TableForm form_;
  std::string name_;
  uint64_t line_ = 0, row_line_ = 0;
  std::string begun_;  // a row whose quotes are open
  std::vector<std::string> columns_;
};

// The values of a kept line.
Result<Values> values_of(TableForm form, const std::vector<std::string>& columns, uint64_t number,
                         std::string_view kept);

}  // namespace minke::farm
