// Any bytes as a program: an ELF file's tables may point anywhere.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "mpi/program_kind.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int file = ::memfd_create("program", MFD_CLOEXEC);
  MINKE_CHECK(file >= 0 && ::write(file, data, size) == static_cast<ssize_t>(size));
  (void)minke::mpi::kind_of_program("/proc/self/fd/" + std::to_string(file));
  ::close(file);
  return 0;
}
