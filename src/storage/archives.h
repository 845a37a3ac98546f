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

// Recognizes an archive by its first bytes. Returns nothing if it is not an archive, or not readable.
std::optional<ArchiveKind> archive_kind(const std::string& path);
// "train.tar.gz" -> "train", "train" -> "train"
std::string without_suffix(const std::string& name);

// Makes `to` from the tree: blocks of 32 KiB without fragments, which suit random reading; compressed by zstd
// at its fastest, or not at all. It is read back and compared before it replaces what was there. Errors:
// ENOENT (mksquashfs is not installed), its own message, EIO with the differences in `failures`.
Status pack_squashfs(const std::string& from, const std::string& to, bool compress, Failures& failures,
                     const std::atomic<bool>* stop);

// Makes the directory `to`, which must not exist, from the archive's content; if that is one directory of the
// same name, from its content. An archive of minke pack is compared with its checksums first. The directory
// appears in one step, on the disk. Errors: EEXIST; ENOENT (a program is missing); the program's message.
struct UnpackOptions {
  std::string inner;  // the name of that one directory; empty: as `to`
  bool sync = true;
};
Status unpack(const std::string& archive, const std::string& to, const std::atomic<bool>* stop,
              const UnpackOptions& options = {});

}  // namespace minke::storage
