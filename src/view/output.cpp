#include "view/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "text/number.h"
#include "text/printable.h"

namespace minke::view {

void write_out(std::string_view text) {
  write_bytes(text::printable_lines(text));
}

void write_bytes(std::string_view text) {
  std::fflush(stdout);
  while (!text.empty()) {
    ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      std::fprintf(stderr, "error: cannot write the output: %s\n", std::strerror(errno));
      std::exit(1);
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void print_error(std::string_view command, std::string_view message) {
  for (const std::string_view line : text::split(message, '\n')) {
    if (line.empty()) {
      std::fputc('\n', stderr);
      continue;
    }
    std::fprintf(stderr, "%.*s: error: %.*s\n", static_cast<int>(command.size()), command.data(),
                 static_cast<int>(line.size()), line.data());
  }
}

}  // namespace minke::view
