// Output for people: standard output and standard error. Replaces what a terminal would obey
// (text/printable.h), but for line feeds and tabs. One thread.
#pragma once

#include <string_view>

namespace minke::view {

void write_out(std::string_view text);     // to stdout, at once and whole
void write_bytes(std::string_view bytes);  // unchanged: a script, a screen that is drawn
void print_error(std::string_view command, std::string_view message);  // "squeue: error: …" on stderr

}  // namespace minke::view
