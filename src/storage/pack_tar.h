// Packs a tree into tar archives with an index: one, or shards as WebDataset reads them. Several
// threads read, one writes; blocking. Memory: what is read ahead (at most some 256 MiB), and the
// names of one directory.
//
// Guarantees: nothing at the destination is replaced before the archive is complete, on the disk, read back
// and compared by checksum. A pack killed at any point leaves what was there before, and beside it
// .NAME.minke-partial and two more files of such names, with which the next one continues (pack_resume.h).
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
  bool compress = false;        // in zstd frames that can each be read alone (zstd_frames.h)
  uint64_t expected_bytes = 0;  // the approximate size; 0: not known
  const std::atomic<bool>* stop = nullptr;
};

struct PackProgress {
  std::atomic<uint64_t> files{0}, bytes{0};  // packed: content
  std::atomic<uint64_t> verified{0};         // bytes
  Failures failures;
};

// Fails as copy_tree does.
Status pack_tar(const std::string& from, const std::string& to, const PackOptions& options,
                PackProgress& progress);

}  // namespace minke::storage
