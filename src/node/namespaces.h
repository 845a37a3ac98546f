// What of the machine a job sees as another than it is: its network and its name. Needs root, and a kernel
// (or a container's rules) that allows it.
//
// For the launcher's one thread, and for who asks what it could do.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "os/fd.h"

namespace minke::node {

// A network with nothing but loopback, which is up. It lives as long as somebody has it open, or is in it.
Result<os::UniqueFd> make_offline_network();

// A socket that listens at 127.0.0.1:port of that network, whoever accepts from it.
Result<os::UniqueFd> listen_in(int network, uint16_t port);

// Whether a process can be given a host name and an /etc/hosts of its own. Tried once, in a process of its
// own.
bool can_name_hosts();

}  // namespace minke::node
