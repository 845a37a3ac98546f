// Any bytes from any rank: the first byte of each piece says which one, the second how long it is.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "mpi/pmi_space.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  minke::mpi::PmiSpace space("1.0", {0, 0, 1});
  while (size > 2) {
    const uint32_t rank = data[0] % 3;
    const size_t length = std::min<size_t>(data[1], size - 2);
    std::vector<minke::mpi::PmiSpace::Output> out;
    (void)space.receive(rank, {reinterpret_cast<const char*>(data) + 2, length}, out);
    for (const auto& answer : out) MINKE_CHECK(answer.rank < 3 && !answer.bytes.empty());
    data += 2 + length;
    size -= 2 + length;
  }
  return 0;
}
