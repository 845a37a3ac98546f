#include "storage/advice.h"

#include <algorithm>
#include <string_view>

namespace minke::storage {

namespace {

constexpr uint64_t kMemoryBytes = 10'000'000'000;      // "around 10 GB or less, it can fit in memory"
constexpr uint64_t kLocalDiskBytes = 100'000'000'000;  // "around 100 GB or less, local storage"
constexpr uint64_t kManyFiles = 1000, kVeryManyFiles = 100'000;
constexpr uint64_t kSmallFile = 1 << 20;

// Suffixes of files that compressing again does not make smaller.
constexpr std::string_view kCompressed[] = {
    ".jpg", ".jpeg", ".png",  ".webp", ".gif", ".gz",   ".zst",         ".xz",  ".bz2",
    ".zip", ".mp3",  ".mp4",  ".webm", ".ogg", ".flac", ".npz",         ".tgz", ".parquet",
    ".mkv", ".heic", ".avif", ".7z",   ".m4a", ".mov",  ".safetensors", ".opus"};

}  // namespace

Advice advise(const Usage& usage, bool squashfs) {
  Advice advice;
  const uint64_t bytes = usage.total.bytes;
  advice.mean_bytes = usage.files == 0 ? 0 : bytes / usage.files;
  advice.reading = bytes <= kMemoryBytes      ? Reading::kMemory
                   : bytes <= kLocalDiskBytes ? Reading::kLocalDisk
                                              : Reading::kShared;
  advice.many_files =
      usage.files >= kVeryManyFiles || (usage.files >= kManyFiles && advice.mean_bytes < kSmallFile);
  uint64_t compressed = 0;
  for (const auto& [suffix, amount] : usage.suffix_bytes)
    if (std::find(std::begin(kCompressed), std::end(kCompressed), suffix) != std::end(kCompressed))
      compressed += amount;
  advice.compress = compressed < bytes / 2;
  if (advice.many_files)
    advice.form = advice.reading == Reading::kShared ? Form::kWebDataset
                  : squashfs                         ? Form::kSquashfs
                                                     : Form::kTar;
  return advice;
}

}  // namespace minke::storage
