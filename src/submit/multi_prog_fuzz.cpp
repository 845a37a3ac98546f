// Any file as the configuration of --multi-prog: it is refused, or gives a program for every task.
#include <cstddef>
#include <cstdint>

#include "submit/multi_prog.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto programs =
      minke::submit::parse_multi_prog({reinterpret_cast<const char*>(data), size}, "file", 9);
  if (!programs) return 0;
  MINKE_CHECK(programs->size() == 9);
  for (const auto& program : *programs) MINKE_CHECK(!program.empty());
  return 0;
}
