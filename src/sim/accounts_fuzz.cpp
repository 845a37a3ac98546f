// Reading any dump of accounts gives a book with its root, or an error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/accounts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto book = minke::sim::read_accounts({reinterpret_cast<const char*>(data), size});
  if (book && book->find(std::string(minke::accounts::kRootAccount)) == nullptr) std::abort();
  return 0;
}
