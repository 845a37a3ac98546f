// A record of `scontrol show` in preparation: Name=Value words on indented lines, or all
// on one line. Pure.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <utility>

#include "text/printable.h"

namespace minke::view {

struct ShowOptions {
  bool one_line = false;  // --oneliner
  bool details = false;   // --details
  bool wckeys = false;    // of jobs: TrackWCKey
};

class Block {
 public:
  Block(std::string& out, ShowOptions options) : out_(out), separator_(options.one_line ? " " : "\n   ") {}

  template <typename... Values>
  Block& put(fmt::format_string<Values...> format, Values&&... values) {
    const size_t start = out_.size();
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
    text::make_printable(out_, start);  // the block writes the line ends
    return *this;
  }
  // Ends a line of the block; in the one-line form, a word.
  void end() { out_ += separator_; }

 private:
  std::string& out_;
  const char* separator_;
};

}  // namespace minke::view
