// Copies one file's content and attributes from one descriptor to another. Blocking; any thread.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace minke::storage {

inline constexpr size_t kCopyBuffer = 256 << 10;
inline constexpr uint64_t kLargeFile = 64 << 20;  // copied by several threads

// Copies the first `size` bytes (0: as many as there are); holes stay holes. Shares the blocks if the
// file system can (reflinks). `copied` grows with the bytes. Errors: errno; EIO with a message if the
// source is shorter by now.
Status copy_content(int from, int to, uint64_t size, bool sparse, unsigned threads, std::vector<char>& buffer,
                    std::atomic<uint64_t>& copied);

// Shares the blocks of the whole file, if the file system can and it is worth while; `to` is empty.
bool clone_content(int from, int to, uint64_t size);

// Returns the names of its extended attributes; none if the file system has none. Errors: errno.
Result<std::vector<std::string>> attribute_names(int file);

// Copies extended attributes, also ACLs, but not those that only the system may set (security.*, trusted.*
// for users other than root, a file system's own). Calls `on_failure` for each that could not be set.
struct AttributeFailure {
  std::string name;
  int error_number;
};
std::vector<AttributeFailure> copy_attributes(int from, int to);

struct Ownership {
  bool owner = false, group = false;  // whether they are kept
};
// Sets owner, group, mode and times, in this order: the times last, because they mark the copy as
// complete. Errors: errno.
Status set_metadata(int file, const struct statx& status, Ownership keep, const struct statx* current);

timespec to_timespec(const struct statx_timestamp& time);
bool same_time(const struct statx_timestamp& a, const struct statx_timestamp& b);

}  // namespace minke::storage
