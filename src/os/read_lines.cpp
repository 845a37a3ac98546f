#include "os/read_lines.h"

#include <unistd.h>

namespace minke::os {

bool read_lines(int fd, std::string& unread, const std::function<void(const std::string&)>& on_line) {
  char buffer[4096];
  const ssize_t got = ::read(fd, buffer, sizeof buffer);
  if (got < 0) return false;  // not yet; after an error comes the end
  unread.append(buffer, static_cast<size_t>(got));
  for (size_t end; (end = unread.find('\n')) != std::string::npos;) {
    on_line(unread.substr(0, end));
    unread.erase(0, end + 1);
  }
  return got == 0;
}

}  // namespace minke::os
