// Texts of others on their way to a terminal: a job's name, a comment, a path, a reason.
//
// Anyone who submits a job chooses what everybody's squeue prints. Characters that move the cursor, set a
// title, answer for the keyboard, reverse the direction of writing or begin a line that looks like another
// record become question marks, as in ls -q. Everything else stays, in any alphabet. The tables and records
// of all commands pass through here, also into files and pipes, because those end on terminals.
//
// The replaced characters are the controls C0 and C1, DEL, line and paragraph separators, marks of direction,
// and each byte that is not UTF-8. Pure.
#pragma once

#include <string>
#include <string_view>

namespace minke::text {

// Cleans one value in place, from position `from` on: in a table, or behind Name=.
void make_printable(std::string& text, size_t from = 0);
std::string printable(std::string_view value);

// Cleans several lines: line feeds and tabs stay.
std::string printable_lines(std::string_view text);

}  // namespace minke::text
