// Ends a command of minke's own with an error: one line on stderr. Any thread.
#pragma once

#include <cstdio>

#include "base/result.h"

namespace minke::cli {

// Returns the exit status.
inline int complain(const Error& error) {
  std::fprintf(stderr, "minke: error: %s\n", error.message.c_str());
  return 1;
}

}  // namespace minke::cli
