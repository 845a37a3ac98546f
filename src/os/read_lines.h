// Reads the lines that a child process of ours writes to a pipe, as they come. One thread.
#pragma once

#include <functional>
#include <string>

namespace minke::os {

// Reads once from a descriptor that does not block, and passes on each complete line, without
// its end. `unread` is the start of an incomplete line; the caller keeps it. Returns true if
// nothing more will come.
bool read_lines(int fd, std::string& unread, const std::function<void(const std::string&)>& on_line);

}  // namespace minke::os
