#include "base/version.h"

#include <atomic>
#include <iterator>

namespace minke {
namespace {

struct Known {
  int release;
  std::string_view version;
};
constexpr Known kKnown[] = {{kSlurm22, "22.05.8"}, {kSlurm24, "24.11.5"}, {kSlurm26, "26.05.5"}};

constexpr size_t kYearAndMonth = 5;  // letters: "24.11"

std::atomic<int> spoken = kSlurm26;

}  // namespace

std::optional<int> parse_release(std::string_view text) {
  for (const Known& known : kKnown) {
    const bool more = text.size() > kYearAndMonth && text[kYearAndMonth] == '.';
    if (text.substr(0, kYearAndMonth) == known.version.substr(0, kYearAndMonth) &&
        (text.size() == kYearAndMonth || more))
      return known.release;
  }
  return std::nullopt;
}

int nearest_release(std::string_view version) {
  int nearest = kKnown[0].release;
  for (const Known& known : kKnown)
    if (version.substr(0, kYearAndMonth) >= known.version.substr(0, kYearAndMonth)) nearest = known.release;
  return nearest;
}

std::string_view slurm_version(int release) {
  for (const Known& known : kKnown) {
    if (known.release == release) return known.version;
  }
  return std::rbegin(kKnown)->version;
}

int protocol_of(int release) {
  constexpr int kOf22 = 9728, kOf24 = 10752, kOf26 = 11520;
  return release < kSlurm24 ? kOf22 : release < kSlurm26 ? kOf24 : kOf26;
}

int spoken_release() {
  return spoken;
}
void speak_release(int release) {
  spoken = release;
}

}  // namespace minke
