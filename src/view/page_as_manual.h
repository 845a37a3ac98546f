// A page of docs/ (Markdown) as a manual page (roff): headings, paragraphs, lists, tables of two columns and
// more, blocks of code; links are their text. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace minke::view {

struct ManualTitle {
  std::string_view name;     // "minke.toml"
  int section = 1;           // 5
  std::string_view purpose;  // one line
};
std::string page_as_manual(std::string_view markdown, const ManualTitle& title);

}  // namespace minke::view
