// Columns: the format strings of squeue and sinfo, and how a value fits into its column.
//
// There are two languages. -o: "%.18i %9P", that is %[[.]width]letter and then text up to the next percent
// sign. -O: "jobid:.18,name:20,state:|", that is name[:[.][width][text]], with a width of 20 if no colon is
// given. Widths count bytes, as in printf; 0 means as wide as the value. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace minke::view {

struct ColumnRequest {
  std::string field;   // the letter of -o, or the name of -O in lower case
  std::string token;   // as written, without the separator
  size_t width = 0;    // 0: as wide as the value
  bool right = false;  // right-justified
  std::string suffix;  // printed after the value, padding included
};

struct FormatRequest {
  std::string prefix;  // text before the first column
  std::vector<ColumnRequest> columns;
};

// Parses -o. Never fails: the caller reports unknown fields (ColumnRequest::field holds one character).
FormatRequest parse_short_format(std::string_view format);
// Parses -O.
FormatRequest parse_long_format(std::string_view format);

// What happens to a right-justified value too long for its column; left-justified ones are always cut.
enum class Overflow {
  kCut,
  kCutBeforeStar,  // the star behind a default partition stays
  kCutReason,      // "(Resources)" is cut, lists of nodes are not
  kSpill
};

// Fits the text of `out` from `start` on into its column, and appends the suffix.
void fit_column(std::string& out, size_t start, const ColumnRequest& column, Overflow overflow);

}  // namespace minke::view
