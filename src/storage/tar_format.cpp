#include "storage/tar_format.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace minke::storage {

namespace {

constexpr std::string_view kMagic = "MINKEIX1";

struct Header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, target[100];
  char magic[6], version[2], user[32], group[32], device_major[8], device_minor[8], prefix[155], rest[12];
};
static_assert(sizeof(Header) == kTarBlock);

// Writes octal digits and a zero byte; returns false if it does not fit.
template <size_t kSize>
bool put_octal(char (&field)[kSize], uint64_t number) {
  const bool fits = number >> (3 * (kSize - 1)) == 0;
  if (!fits) number = 0;
  for (size_t at = kSize - 1; at-- > 0; number >>= 3) field[at] = static_cast<char>('0' + (number & 7));
  field[kSize - 1] = '\0';
  return fits;
}

template <size_t kSize>
bool put_text(char (&field)[kSize], std::string_view text) {
  std::memcpy(field, text.data(), std::min(text.size(), kSize));
  return text.size() <= kSize;
}

// "LENGTH KEY=VALUE\n", where the length counts its own digits.
std::string pax_record(const std::string& key, const std::string& value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length) length = std::to_string(length).size() + rest;
  return std::to_string(length) + " " + key + "=" + value + "\n";
}

void finish(Header& header) {
  std::memcpy(header.magic, "ustar", 6);
  std::memcpy(header.version, "00", 2);
  std::memset(header.checksum, ' ', sizeof header.checksum);
  unsigned sum = 0;
  for (size_t i = 0; i < kTarBlock; ++i) sum += reinterpret_cast<const unsigned char*>(&header)[i];
  std::snprintf(header.checksum, sizeof header.checksum, "%06o", sum);
}

void append(std::string& out, const Header& header) {
  out.append(reinterpret_cast<const char*>(&header), kTarBlock);
}

void put_little(std::string& out, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(number >> (8 * i)));
}

uint64_t take_little(std::string_view text, size_t at, int bytes) {
  uint64_t number = 0;
  for (int i = bytes - 1; i >= 0; --i) number = number << 8 | static_cast<unsigned char>(text[at + i]);
  return number;
}

}  // namespace

std::string tar_header(const TarMember& member) {
  Header header{};
  std::string records;
  const std::string name = member.type == '5' ? member.name + "/" : member.name;
  if (!put_text(header.name, name)) records += pax_record("path", name);
  if (!put_text(header.target, member.target)) records += pax_record("linkpath", member.target);
  put_octal(header.mode, member.mode & 07777);
  if (!put_octal(header.uid, member.uid)) records += pax_record("uid", std::to_string(member.uid));
  if (!put_octal(header.gid, member.gid)) records += pax_record("gid", std::to_string(member.gid));
  const uint64_t size = member.type == '0' ? member.size : 0;
  if (!put_octal(header.size, size)) records += pax_record("size", std::to_string(size));
  const bool whole = member.mtime_ns == 0 && member.mtime_s >= 0;
  if (!put_octal(header.mtime, static_cast<uint64_t>(std::max<int64_t>(member.mtime_s, 0))) || !whole) {
    char text[48];
    // Before 1970 the fraction counts backwards.
    const bool negative = member.mtime_s < 0 && member.mtime_ns > 0;
    std::snprintf(text, sizeof text, "%s%lld.%09u", negative && member.mtime_s == -1 ? "-" : "",
                  static_cast<long long>(member.mtime_s + (negative ? 1 : 0)),
                  negative ? 1'000'000'000 - member.mtime_ns : member.mtime_ns);
    records += pax_record("mtime", text);
  }
  put_octal(header.device_major, member.device_major);
  put_octal(header.device_minor, member.device_minor);
  for (const auto& [key, value] : member.attributes) records += pax_record("SCHILY.xattr." + key, value);
  header.type = member.type;
  finish(header);
  std::string out;
  if (!records.empty()) {
    Header extended{};
    put_text(extended.name, "PaxHeaders/" + member.name.substr(member.name.rfind('/') + 1).substr(0, 80));
    put_octal(extended.mode, 0644);
    put_octal(extended.uid, 0);
    put_octal(extended.gid, 0);
    put_octal(extended.size, records.size());
    put_octal(extended.mtime, 0);
    extended.type = 'x';
    finish(extended);
    append(out, extended);
    out += records;
    out.append(tar_padding(records.size()), '\0');
  }
  append(out, header);
  return out;
}

std::string index_entry_text(const IndexEntry& entry) {
  std::string text;
  put_little(text, entry.offset, 8);
  put_little(text, entry.size, 8);
  put_little(text, entry.crc, 4);
  put_little(text, entry.name.size(), 4);
  return text + entry.name;
}

std::optional<IndexEntry> take_index_entry(std::string_view& text) {
  if (text.size() < 24) return std::nullopt;
  const uint64_t length = take_little(text, 20, 4);
  if (text.size() - 24 < length) return std::nullopt;
  IndexEntry entry{take_little(text, 0, 8), take_little(text, 8, 8),
                   static_cast<uint32_t>(take_little(text, 16, 4)), std::string(text.substr(24, length))};
  text.remove_prefix(24 + length);
  return entry;
}

std::string index_footer_text(const IndexFooter& footer) {
  std::string text(kMagic);
  put_little(text, footer.offset, 8);
  put_little(text, footer.entries, 8);
  put_little(text, footer.crc, 4);
  put_little(text, 0, 4);
  return text;
}

std::optional<IndexFooter> parse_index_footer(std::string_view text) {
  if (text.size() != kFooterBytes || !text.starts_with(kMagic)) return std::nullopt;
  return IndexFooter{take_little(text, 8, 8), take_little(text, 16, 8),
                     static_cast<uint32_t>(take_little(text, 24, 4))};
}

}  // namespace minke::storage
