#include "os/random_key.h"

#include <sys/random.h>

#include "base/result.h"

namespace minke::os {

std::string random_key() {
  std::string key(16, '\0');
  MINKE_CHECK(::getrandom(key.data(), key.size(), 0) == static_cast<ssize_t>(key.size()));
  return key;
}

}  // namespace minke::os
