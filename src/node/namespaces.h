// What of the machine a job sees as another than it is: its network, its name, and whose processes it may
// look into. Needs root but where another thing is said, and a kernel (or a container's rules) that allows
// it.
//
// For the launcher's one thread, and for who asks what it could do.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace minke::node {

// A network with nothing but loopback, which is up. It lives as long as somebody has it open, or is in it.
Result<os::UniqueFd> make_offline_network();

// A socket that listens at 127.0.0.1:port of that network, whoever accepts from it.
Result<os::UniqueFd> listen_in(int network, uint16_t port);

// A namespace of users with the same numbers as outside. The kernel lets nobody in it look into a process
// that is outside, even one of the same user's: not into its descriptors (pidfd_getfd), its memory, nor its
// mounts
// (/proc/PID/root). It lives as long as somebody has it open, or is in it.
Result<os::UniqueFd> make_user_namespace();

// For who is not root: a namespace of users with nobody else in it, and one of mounts, where `hosts` is
// /etc/hosts.
struct HostsNamespace {
  os::UniqueFd users, mounts;
};
Result<HostsNamespace> make_hosts_namespace(const std::string& hosts);

// Whether a process can be given a host name and an /etc/hosts of its own. Tried once, in a process of its
// own.
bool can_name_hosts();

}  // namespace minke::node
