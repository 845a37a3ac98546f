// Which addresses of the internet are nobody's inside: what a user names may be asked for by a process of the
// site's only if its address is one of these. Pure; any thread.
#pragma once

struct sockaddr;

namespace minke::os {

// False for loopback, link-local, private, shared, multicast, reserved and documentation networks (IANA's
// registries of special-purpose addresses), for IPv6 that has an IPv4 address within (mapped, 6to4, Teredo,
// NAT64), and for other families than IPv4 and IPv6. The address must be as long as its family's.
bool is_public_address(const sockaddr& address);

}  // namespace minke::os
