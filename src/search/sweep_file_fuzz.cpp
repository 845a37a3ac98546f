// Any bytes as a sweep file: a plan that can be sampled, or an error.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "search/sweep_file.h"

using namespace minke::search;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto read = read_sweep_file(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!read) {
    MINKE_CHECK(!read.error().message.empty());
    return 0;
  }
  const Space& space = read->plan.space;
  Random random(1);
  for (int i = 0; i < 3; ++i) {
    Point point = space.random(random);
    MINKE_CHECK(point.size() == space.size());
    for (size_t k = 0; k < space.size(); ++k) {
      if (!std::isnan(point[k])) (void)python_text(space.value(k, point[k]));
    }
    (void)space.json(point);
    Point again = point;
    space.snap(again);
    for (size_t k = 0; k < space.size(); ++k) MINKE_CHECK(std::isnan(point[k]) == std::isnan(again[k]));
  }
  return 0;
}
