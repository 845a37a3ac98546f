// Appends a line to a user's file. A child process writes it with that user's rights and has ten seconds, so
// that the launcher, which has one thread, does not block.
#pragma once

#include <sys/types.h>

#include <string>

namespace minke::node {
class Identity;
}  // namespace minke::node

namespace minke::node {

// Appends to an existing file. It skips a pipe without a reader and a file that may not be written. The
// caller reaps the child, whose process it returns; -1: none. `identity`: whose rights to use; without uid:
// the launcher's own.
pid_t append_in_child(const Identity* identity, const std::string& path, const std::string& text);

// Appends to what is now the process's standard error, even if the process ends meanwhile.
void append_in_child_to_stderr_of(pid_t pid, const Identity& identity, const std::string& text);

}  // namespace minke::node
