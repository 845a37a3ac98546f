// What a child process of ours tells line by line through a pipe, read as it comes. One thread.
#pragma once

#include <functional>
#include <string>

namespace minke::os {

// Reads once from a descriptor that does not block, and hands on each line that is whole by now, without its
// end. `unread`: the start of a line whose rest has not come; kept by the caller. True: nothing more will
// come.
bool read_lines(int fd, std::string& unread, const std::function<void(const std::string&)>& on_line);

}  // namespace minke::os
