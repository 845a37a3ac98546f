// The tar format (POSIX pax interchange), and the index that Minke puts behind an archive's end, which other
// programs ignore. Pure; any thread.
//
// An archive: members, two blocks of zeros, the index, the footer. The index has for each regular file, in
// the archive's order: where its content begins (8 bytes), its size (8), the CRC-32 of its content (4), the
// length of its name (4), its name. The footer, 32 bytes: "MINKEIX1", where the index begins (8), how many
// entries it has (8), the CRC-32 of the index (4), zeros (4). Numbers are little-endian.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace minke::storage {

inline constexpr size_t kTarBlock = 512;
inline constexpr size_t kFooterBytes = 32;

struct TarMember {
  std::string name;  // relative; a directory's without the slash
  char type =
      '0';  // '0' regular, '1' hard link, '2' symbolic link, '5' directory, '6' FIFO, '3', '4' devices
  std::string target;  // of a link
  uint32_t mode = 0, uid = 0, gid = 0, device_major = 0, device_minor = 0;
  int64_t mtime_s = 0;
  uint32_t mtime_ns = 0;
  uint64_t size = 0;
  std::map<std::string, std::string> attributes;  // extended attributes
};

// Returns everything before the content: whole blocks.
std::string tar_header(const TarMember& member);
// Returns how many zeros follow the content.
inline size_t tar_padding(uint64_t size) {
  return (kTarBlock - size % kTarBlock) % kTarBlock;
}

struct IndexEntry {
  uint64_t offset = 0, size = 0;
  uint32_t crc = 0;
  std::string name;
};
std::string index_entry_text(const IndexEntry& entry);
// Takes one from the front. Returns nothing if it is cut off.
std::optional<IndexEntry> take_index_entry(std::string_view& text);

struct IndexFooter {
  uint64_t offset = 0, entries = 0;
  uint32_t crc = 0;
};
std::string index_footer_text(const IndexFooter& footer);
std::optional<IndexFooter> parse_index_footer(std::string_view text);

}  // namespace minke::storage
