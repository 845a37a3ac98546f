// Archives of any kind that users have: which kind a file is, packing a tree as squashfs, unpacking.
// Blocking.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "base/result.h"
#include "storage/failures.h"

namespace minke::storage {

enum class ArchiveKind { kTar, kZip, kSquashfs };  // tar: compressed or not

// By what it begins with. Nothing: no archive, or not readable.
std::optional<ArchiveKind> archive_kind(const std::string& path);
// "train.tar.gz" -> "train", "train" -> "train"
std::string without_suffix(const std::string& name);

// Makes `to` of the tree: blocks of 32 KiB without fragments, which random reading wants; compressed by zstd
// at its fastest, or not at all. Read back and compared before it takes the place of what was there. Errors:
// ENOENT (mksquashfs is not installed), what it said, EIO with the differences in `failures`.
Status pack_squashfs(const std::string& from, const std::string& to, bool compress, Failures& failures,
                     const std::atomic<bool>* stop);

// Makes the directory `to`, which must not be there, of what the archive holds; where that is one directory
// of the same name, of what is in it. One of minke pack is compared with its checksums first. It appears in
// one step, on the disk. Errors: EEXIST; ENOENT (a program is missing); what it said.
struct UnpackOptions {
  std::string inner;  // the name of that one directory; empty: as `to`
  bool sync = true;
};
Status unpack(const std::string& archive, const std::string& to, const std::atomic<bool>* stop,
              const UnpackOptions& options = {});

}  // namespace minke::storage
