#include "base/result.h"

#include <cstring>

namespace minke {

tl::unexpected<Error> failure_from_errno(const std::string& what, int error_number) {
  return failure(what + ": " + std::strerror(error_number), error_number);
}

}  // namespace minke
