#include "os/public_address.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace minke::os {
namespace {

struct Network {
  uint32_t address;
  int bits;
};
constexpr uint32_t dotted(uint32_t a, uint32_t b, uint32_t c = 0, uint32_t d = 0) {
  return a << 24 | b << 16 | c << 8 | d;
}
constexpr Network kSpecial[] = {
    {dotted(0, 0), 8},         {dotted(10, 0), 8},     {dotted(100, 64), 10}, {dotted(127, 0), 8},
    {dotted(169, 254), 16},    {dotted(172, 16), 12},  {dotted(192, 0), 24},  {dotted(192, 0, 2), 24},
    {dotted(192, 88, 99), 24}, {dotted(192, 168), 16}, {dotted(198, 18), 15}, {dotted(198, 51, 100), 24},
    {dotted(203, 0, 113), 24}, {dotted(224, 0), 4},    {dotted(240, 0), 4},
};

bool is_public(uint32_t address) {
  return std::none_of(std::begin(kSpecial), std::end(kSpecial), [&](const Network& network) {
    return (address ^ network.address) >> (32 - network.bits) == 0;
  });
}

// Of 2000::/3, which is all that is given out: neither 2001::/23 (Teredo and protocols), 2001:db8::/32,
// 2002::/16 (6to4), nor 3fff::/20 (documentation).
bool is_public(const uint8_t (&bytes)[16]) {
  if ((bytes[0] & 0xe0) != 0x20) return false;
  const uint32_t first =
      uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
  return first >> 9 != 0x20010000u >> 9 && first != 0x20010db8u && first >> 16 != 0x2002u &&
         first >> 12 != 0x3fff0000u >> 12;
}

}  // namespace

bool is_public_address(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &address, sizeof four);
    return is_public(ntohl(four.sin_addr.s_addr));
  }
  if (address.sa_family != AF_INET6) return false;
  sockaddr_in6 six{};
  std::memcpy(&six, &address, sizeof six);
  return is_public(six.sin6_addr.s6_addr);
}

}  // namespace minke::os
