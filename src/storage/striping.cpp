#include "storage/striping.h"

#include <algorithm>
#include <bit>

#include "storage/run_program.h"

namespace minke::storage {

unsigned stripes_for(uint64_t bytes) {
  constexpr uint64_t kGiB = 1 << 30;
  if (bytes < kGiB) return 1;
  // 4 from 1 GiB, and one more for each doubling.
  return static_cast<unsigned>(std::min<uint64_t>(8, 4 + std::bit_width(bytes / kGiB) - 1));
}

void make_striped(const std::string& path, uint64_t bytes) {
  const unsigned stripes = stripes_for(bytes);
  static const bool installed = is_installed("lfs");
  if (stripes < 2 || !installed) return;
  // It complains if this is not Lustre; an ordinary file does as well.
  (void)run_program({"lfs", "setstripe", "-S", "1M", "-c", std::to_string(stripes), path});
}

}  // namespace minke::storage
