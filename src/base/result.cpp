#include "base/result.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace minke {

tl::unexpected<Error> failure_from_errno(const std::string& what, int error_number) {
  return failure(what + ": " + std::strerror(error_number), error_number);
}

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: internal error: %s does not hold\n", file, line, expression);
  std::abort();
}

}  // namespace minke
