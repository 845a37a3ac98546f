// TCP sockets of this process's network, as the kernel lists them: which ports a user listens at, and whose a
// connection is. Asked by netlink (sock_diag), which answers everybody.
//
// The kernel shows sockets that are closed, and wait, as root's: they are nobody's here. Any thread.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <optional>
#include <set>

#include "base/result.h"
#include "os/fd.h"

namespace minke::os {

class TcpSockets {
 public:
  static Result<TcpSockets> open();

  // The ports that this user's processes listen at.
  Result<std::set<uint16_t>> listened_by(uint32_t uid) const;
  // Who has connected from `from` to `to`, both of this machine's IPv4; none: nobody, or no longer.
  std::optional<uint32_t> owner_of(const sockaddr_in& from, const sockaddr_in& to) const;

 private:
  explicit TcpSockets(UniqueFd socket) : socket_(std::move(socket)) {}
  Status add_listeners(uint8_t family, uint32_t uid, std::set<uint16_t>& ports) const;
  UniqueFd socket_;
};

}  // namespace minke::os
