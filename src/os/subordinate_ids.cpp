#include "os/subordinate_ids.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "os/files.h"

namespace minke::os {

namespace {

constexpr size_t kMostBytes = size_t{8} << 20;

bool parse(std::string_view text, uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

bool is_subordinate(uid_t uid, const std::string& file) {
  const auto text = read_file(file, kMostBytes);
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  while (!rest.empty()) {  // NAME:FIRST:COUNT
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const size_t one = line.find(':'), two = one == line.npos ? one : line.find(':', one + 1);
    uint64_t first = 0, count = 0;
    if (two == line.npos || !parse(line.substr(one + 1, two - one - 1), first) ||
        !parse(line.substr(two + 1), count))
      continue;
    if (uid >= first && uid - first < count) return true;
  }
  return false;
}

}  // namespace minke::os
