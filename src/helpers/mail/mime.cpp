#include "helpers/mail/mime.h"

#include <ctime>

#include "text/base64.h"
#include "text/mail_address.h"
#include "text/number.h"

namespace minke::helpers {

namespace {

constexpr size_t kMaxHeaderBytes = 400;

// Returns the bytes of the UTF-8 character that begins at `at`; 0 if none does.
size_t character_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 && lead < 0xf5   ? 4
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xc2                ? 2
                                                      : 0;
  if (length == 0 || lead >= 0xf5 || at + length > text.size()) return 0;
  for (size_t i = at + 1; i < at + length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

char hex_digit(unsigned value) {
  return "0123456789ABCDEF"[value & 15];
}

}  // namespace

std::string clean_text(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t length = character_length(text, i);
    const auto byte = static_cast<unsigned char>(text[i]);
    if (length == 0 || (byte < ' ' && byte != '\n' && byte != '\t') || byte == 0x7f) {
      out += '?';
      ++i;
    } else {
      out += text.substr(i, length);
      i += length;
    }
  }
  return out;
}

std::string header_text(std::string_view text) {
  std::string line = clean_text(text.substr(0, kMaxHeaderBytes));
  bool ascii = true;
  for (char& c : line) {
    if (c == '\n' || c == '\t') c = '?';
    ascii = ascii && static_cast<unsigned char>(c) < 0x80;
  }
  // "=?" would be read as the beginning of an encoded word.
  if (ascii && line.find("=?") == std::string::npos && line.size() < 200) return line;
  std::string out;
  for (size_t i = 0; i < line.size();) {
    size_t end = i;
    while (end < line.size()) {
      const size_t length = character_length(line, end);
      if (end + length - i > 45) break;  // an encoded word has at most 75 letters
      end += length;
    }
    out.append(out.empty() ? "" : "\r\n ")
        .append("=?UTF-8?B?" + text::base64(line.substr(i, end - i)) + "?=");
    i = end;
  }
  return out;
}

std::string quoted_printable(std::string_view text) {
  constexpr size_t kMaxLine = 76;
  std::string out;
  size_t column = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\n') {
      out += "\r\n";
      column = 0;
      continue;
    }
    const bool ends_line = i + 1 == text.size() || text[i + 1] == '\n';
    const bool plain = (byte > ' ' && byte < 0x7f && byte != '=' && !(byte == '.' && column == 0)) ||
                       ((byte == ' ' || byte == '\t') && !ends_line);
    if (column + (plain ? 1 : 3) >= kMaxLine) {
      out += "=\r\n";
      column = 0;
      --i;  // whether it is plain depends on the column
      continue;
    }
    if (plain) {
      out += static_cast<char>(byte);
      ++column;
    } else {
      out += {'=', hex_digit(byte >> 4), hex_digit(byte)};
      column += 3;
    }
  }
  if (column > 0) out += "\r\n";
  return out;
}

Result<std::vector<std::string>> recipients(std::string_view list, std::string_view domain) {
  auto out = text::parse_mail_addresses(list);
  if (!out) return failure(out.error());
  for (std::string& address : *out) {
    if (address.find('@') != std::string::npos || domain.empty()) continue;
    address.append("@").append(domain);
    if (!text::is_mail_address(address)) return failure("no mail address: " + header_text(address));
  }
  return out;
}

std::string header_date(int64_t time) {
  const std::time_t seconds = time;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  char text[64];
  std::snprintf(text, sizeof text, "%s, %02d %s %d %02d:%02d:%02d +0000", kDays[parts.tm_wday], parts.tm_mday,
                kMonths[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
  return text;
}

}  // namespace minke::helpers
