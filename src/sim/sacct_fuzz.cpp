// Reading any dump gives jobs that keep Trace's invariants, or an error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/sacct.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto trace = minke::sim::read_sacct({reinterpret_cast<const char*>(data), size});
  if (!trace) return 0;
  std::int64_t last = INT64_MIN;
  for (const auto& job : trace->jobs) {
    if (job.submit < last || job.runs < 1 || job.runs > job.asks || job.processors < 1) std::abort();
    last = job.submit;
  }
  return 0;
}
