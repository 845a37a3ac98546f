#include "os/public_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <string>

namespace minke::os {
namespace {

bool is_public(const std::string& text) {
  if (text.find(':') == std::string::npos) {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    EXPECT_EQ(::inet_pton(AF_INET, text.c_str(), &four.sin_addr), 1) << text;
    return is_public_address(reinterpret_cast<const sockaddr&>(four));
  }
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  EXPECT_EQ(::inet_pton(AF_INET6, text.c_str(), &six.sin6_addr), 1) << text;
  return is_public_address(reinterpret_cast<const sockaddr&>(six));
}

TEST(PublicAddress, WhatIsInsideIsNot) {
  for (const char* inside : {"127.0.0.1",
                             "127.255.255.254",
                             "0.0.0.0",
                             "10.1.2.3",
                             "100.64.0.1",
                             "100.127.255.255",
                             "169.254.169.254",
                             "172.16.0.1",
                             "172.31.255.255",
                             "192.168.1.1",
                             "192.0.2.1",
                             "198.18.0.1",
                             "198.19.255.255",
                             "203.0.113.9",
                             "224.0.0.1",
                             "239.1.1.1",
                             "240.0.0.1",
                             "255.255.255.255",
                             "::",
                             "::1",
                             "::ffff:127.0.0.1",
                             "::ffff:8.8.8.8",
                             "fe80::1",
                             "fc00::1",
                             "fd12::1",
                             "ff02::1",
                             "64:ff9b::7f00:1",
                             "2001::1",
                             "2001:db8::1",
                             "2002:7f00:1::",
                             "3fff::1"})
    EXPECT_FALSE(is_public(inside)) << inside;
}

TEST(PublicAddress, WhatIsGivenOutIs) {
  for (const char* outside :
       {"8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.1", "169.253.0.1", "172.15.255.255", "172.32.0.0", "192.167.0.1", "223.255.255.255",
        "2a00:1450::1", "2606:4700::1111", "2001:4860::8888", "2001:db9::1", "2003::1"})
    EXPECT_TRUE(is_public(outside)) << outside;
}

TEST(PublicAddress, OtherFamiliesAreNot) {
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  EXPECT_FALSE(is_public_address(reinterpret_cast<const sockaddr&>(local)));
}

}  // namespace
}  // namespace minke::os
