// Packs a tree into tar archives with an index: one, or shards as WebDataset reads them. Several threads
// read, one writes; blocking. Memory: what is read ahead (some 256 MiB at most), and the names of one
// directory.
//
// What holds: nothing at the destination is replaced before the archive is complete, on the disk, read back
// from there and compared by checksum. Killed at any point, there is what was there before, and beside it
// .NAME.minke-partial and two files more of such names, with which the next one goes on (pack_resume.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "storage/failures.h"

namespace minke::storage {

struct PackOptions {
  unsigned threads = 0;
  // 0: one archive, `to`. Else `to` is a directory of shards of about so many bytes, 000000.tar …; files
  // whose names differ only behind the first dot stay together.
  uint64_t shard_bytes = 0;
  bool compress = false;        // in zstd frames that can be read each by itself (zstd_frames.h)
  uint64_t expected_bytes = 0;  // about how much there is; 0: not known
  const std::atomic<bool>* stop = nullptr;
};

struct PackProgress {
  std::atomic<uint64_t> files{0}, bytes{0};  // packed: content
  std::atomic<uint64_t> verified{0};         // bytes
  Failures failures;
};

// Errors: as of copy_tree.
Status pack_tar(const std::string& from, const std::string& to, const PackOptions& options,
                PackProgress& progress);

}  // namespace minke::storage
