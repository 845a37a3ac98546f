// Namespaces: parts of the machine that a job sees differently: its network, its host name, and
// whose processes it may look into. Functions need root unless noted, and a kernel (and container
// rules) that allows namespaces.
//
// Called by the launcher's one thread, and by programs that check what it could do.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace minke::node {

// Makes a network with only loopback, which is up. It lives while a descriptor or a process holds it.
Result<os::UniqueFd> make_offline_network();

// A socket that listens at 127.0.0.1:port of that network. Any process may accept from it.
Result<os::UniqueFd> listen_in(int network, uint16_t port);

// Makes a user namespace with the same ids as outside. The kernel lets no process in
// it look into a process outside, even of the same user: not into its descriptors
// (pidfd_getfd), its memory or its mounts (/proc/PID/root). It lives while a
// descriptor or a process holds it.
Result<os::UniqueFd> make_user_namespace();

// Without root: a user namespace with only this user in it, and a mount namespace
// in which `hosts` is /etc/hosts.
struct HostsNamespace {
  os::UniqueFd users, mounts;
};
Result<HostsNamespace> make_hosts_namespace(const std::string& hosts);

// Whether a process can be given its own host name and /etc/hosts.
// Tried once, in a child process.
bool can_name_hosts();

}  // namespace minke::node
