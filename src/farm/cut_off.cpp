#include "farm/cut_off.h"

#include <algorithm>
#include <bit>

#include "base/result.h"

namespace minke::farm {
namespace {

constexpr uint64_t kMostAtOnce = 1 << 14;

}  // namespace

uint64_t cut_off_mark(uint64_t done) {
  MINKE_CHECK(done >= kFirstCutOff);
  return std::bit_floor(done);
}

uint64_t longest_eighth(std::vector<uint64_t> run_times) {
  MINKE_CHECK(!run_times.empty());
  const size_t above = run_times.size() / 8;
  const auto place = run_times.end() - static_cast<std::ptrdiff_t>(above) - 1;
  std::nth_element(run_times.begin(), place, run_times.end());
  return *place;
}

uint64_t cases_at_once(const Share& share) {
  if (share.mean_run_us == 0) return 1;
  const uint64_t in_time = share.pace_us * share.slots / share.mean_run_us;
  const uint64_t fair = share.left / (2 * std::max<uint64_t>(1, share.workers));
  return std::clamp<uint64_t>(std::min(in_time, fair), 1, kMostAtOnce);
}

}  // namespace minke::farm
