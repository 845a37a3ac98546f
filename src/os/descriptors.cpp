#include "os/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>

#include "os/fd.h"

namespace minke::os {

size_t spare_descriptors() {
  static const size_t spare = [] {
    constexpr size_t kLeastReserve = 64, kMostReserve = 1024, kMost = size_t{1} << 20;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kLeastReserve;
    const size_t all = std::min<size_t>(limit.rlim_cur, kMost);
    const size_t reserve = std::clamp(all / 8, kLeastReserve, kMostReserve);
    return all > 2 * reserve ? all - reserve : all / 2;
  }();
  return spare;
}

bool is_spare_descriptor(int fd) {
  return static_cast<size_t>(fd) < spare_descriptors();
}

bool has_spare_descriptors() {
  const UniqueFd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return next && is_spare_descriptor(next.get());
}

}  // namespace minke::os
