// One file's content and attributes from one descriptor to another. Blocking; any thread.
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

// The first `size` bytes (0: as many as there are); holes stay holes. Shares the blocks where the file system
// can (reflinks). `copied` grows as bytes are. Errors: errno; EIO with words of its own where the source is
// shorter by now.
Status copy_content(int from, int to, uint64_t size, bool sparse, unsigned threads, std::vector<char>& buffer,
                    std::atomic<uint64_t>& copied);

// What its extended attributes are called; none where the file system has none. Errors: errno.
Result<std::vector<std::string>> attribute_names(int file);

// Extended attributes, ACLs among them. Those that only the system may set (security.*, trusted.* for others
// than root, a file system's own) are left out. `on_failure` is told of each that could not be set.
struct AttributeFailure {
  std::string name;
  int error_number;
};
std::vector<AttributeFailure> copy_attributes(int from, int to);

struct Ownership {
  bool owner = false, group = false;  // whether they are kept
};
// Owner, group, mode and times, in this order: the times last, because they say that all is there.
// Errors: errno.
Status set_metadata(int file, const struct statx& status, Ownership keep, const struct statx* current);

timespec to_timespec(const struct statx_timestamp& time);
bool same_time(const struct statx_timestamp& a, const struct statx_timestamp& b);

}  // namespace minke::storage
