// Measures how fast single samples of a packed set are read in random order, as a shuffling training does,
// compared with what the disk allows. Blocking; has threads of its own.
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

// Reads so many `samples`, chosen by `seed`, never from the page cache if the file system allows that. Fails
// with EINVAL if there is none, and with EIO if one is not what was packed.
Result<RandomReads> measure_random_reads(const TarIndex& index, uint64_t samples, uint64_t seed,
                                         unsigned threads);

}  // namespace minke::storage
