// How fast single samples of a packed set are read in random order, beside what the disk allows: as a
// training that shuffles reads them. Blocking; threads of its own.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "storage/tar_index.h"

namespace minke::storage {

struct RandomReads {
  uint64_t samples = 0, bytes = 0;
  double seconds = 0;  // for the samples, each compared with its checksum
  double device_seconds =
      0;  // for as many reads of the same mean size anywhere in the archive; 0: not measured
};

// `samples`: how many, chosen by `seed`, never from the system's memory where the file system allows that.
// Errors: EINVAL: there is none; EIO: one is not what was packed.
Result<RandomReads> measure_random_reads(const TarIndex& index, uint64_t samples, uint64_t seed,
                                         unsigned threads);

}  // namespace minke::storage
