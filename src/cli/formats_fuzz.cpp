// Format strings of squeue, sinfo and sacct, lists of node states, and the words of scontrol update: any text
// is laid out in bounded space, or refused.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/scontrol/update.h"
#include "view/columns.h"
#include "view/sinfo.h"

using namespace minke::cli;
using namespace minke::view;

namespace {

void lay_out(const FormatRequest& format) {
  for (const ColumnRequest& column : format.columns) {
    for (const Overflow overflow : {Overflow::kCut, Overflow::kSpill}) {
      std::string line = "before";
      line += "the value";
      fit_column(line, 6, column, overflow);
      MINKE_CHECK(line.starts_with("before"));
      MINKE_CHECK(line.size() <= 6 + std::max<size_t>(9, column.width) + column.suffix.size());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4096) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  lay_out(parse_short_format(text));
  lay_out(parse_long_format(text));
  (void)parse_node_states(text);
  std::vector<std::string> words;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(' ', start), text.size());
    words.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  (void)parse_update(words);
  return 0;
}
