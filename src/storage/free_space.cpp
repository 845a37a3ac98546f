#include "storage/free_space.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "storage/words.h"

namespace minke::storage {

std::optional<Reserve> parse_reserve(std::string_view text) {
  if (!text.empty() && text.back() == '%') {
    const std::string number(text.substr(0, text.size() - 1));
    char* end = nullptr;
    const double percent = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || !(percent >= 0 && percent < 100)) return std::nullopt;
    return Reserve{.share = percent / 100};
  }
  if (text == "0") return Reserve{};
  const uint64_t bytes = parse_bytes(text);
  if (bytes == 0) return std::nullopt;
  return Reserve{.bytes = bytes};
}

Status FreeSpace::check(uint64_t more) const {
  if (reserve_.bytes == 0 && reserve_.share <= 0) return {};
  struct statvfs disk {};
  if (::fstatvfs(file_, &disk) != 0 || disk.f_blocks == 0) return {};
  const uint64_t whole = static_cast<uint64_t>(disk.f_blocks) * disk.f_frsize;
  const uint64_t free = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
  const uint64_t kept =
      std::max(reserve_.bytes, static_cast<uint64_t>(reserve_.share * static_cast<double>(whole)));
  if (free >= kept && free - kept >= more) return {};
  std::string words = bytes_text(free) + " of " + bytes_text(whole) + " are free on this disk";
  if (more > 0) words += ", and the next file has " + bytes_text(more);
  return failure(words + ": " + bytes_text(kept) + " are to stay free", ENOSPC);
}

}  // namespace minke::storage
