// Texts of others on their way to a terminal: a job's name, a comment, a path, a reason.
//
// Whoever submits a job chooses what everybody's squeue prints. What moves the cursor, sets a title, answers
// for the keyboard, reverses the direction of writing or begins a line that looks like another record becomes
// a question mark, as ls -q does it. Everything else stays as it is, whatever alphabet it is written in. The
// tables and records of all commands go through here, into files and pipes too: they end on terminals.
//
// Replaced are the controls C0 and C1, DEL, line and paragraph separators, marks of direction, and each byte
// that is not UTF-8. Pure.
#pragma once

#include <string>
#include <string_view>

namespace minke::text {

// One value, in place, from `from` on: in a table, or behind Name=.
void make_printable(std::string& text, size_t from = 0);
std::string printable(std::string_view value);

// Several lines: line feeds and tabs stay.
std::string printable_lines(std::string_view text);

}  // namespace minke::text
