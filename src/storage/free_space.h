// How much of a file system is to stay free, and whether it does. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace minke::storage {

// The larger of the two.
struct Reserve {
  uint64_t bytes = 0;
  double share = 0;  // of the file system, 0 … 1
};
// Parses "50G" or "5%"; nothing if it is neither.
std::optional<Reserve> parse_reserve(std::string_view text);

class FreeSpace {
 public:
  // `file` is any descriptor of the file system. It must outlive this.
  FreeSpace(int file, const Reserve& reserve) : file_(file), reserve_(reserve) {}
  // Fails with ENOSPC, and a message with the figures, if less than the reserve would be free after `more`
  // bytes. A file system that does not tell is taken to have enough.
  Status check(uint64_t more) const;

 private:
  int file_;
  Reserve reserve_;
};

}  // namespace minke::storage
