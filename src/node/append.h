// A line for a file of a user's, written by a process of its own, which has that user's rights and ten
// seconds. For the launcher, which has one thread.
#pragma once

#include <sys/types.h>

#include <string>

namespace minke::node {
class Identity;
}  // namespace minke::node

namespace minke::node {

// Appends to a file that is there: a pipe that nobody reads, and what may not be written, is passed over. The
// child is to be reaped by the caller. `identity`: whose rights; absent (no uid given): the launcher's own.
void append_in_child(const Identity* identity, const std::string& path, const std::string& text);

// The same for the file that a process has as its standard error now, whatever becomes of the process.
void append_in_child_to_stderr_of(pid_t pid, const Identity& identity, const std::string& text);

}  // namespace minke::node
