// What is to reach standard output as it is: a script, a screen that is drawn. Everything else goes through
// write_out() of cli/fetch.h, which replaces what a terminal would obey (text/printable.h), but for line
// feeds and tabs. One thread.
#pragma once

#include <string_view>

namespace minke::cli {

void write_bytes(std::string_view bytes);  // at once and whole

}  // namespace minke::cli
