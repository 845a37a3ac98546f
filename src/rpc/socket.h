// The system calls beneath the conversations: Unix stream sockets; os/pass_descriptors.h has what they carry.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace minke::rpc {

struct Peer {  // from the kernel (SO_PEERCRED)
  pid_t pid =
      0;  // the client's; it may have ended, and another process may have the number: see peer_process
  uid_t uid = 0;
  gid_t gid = 0;
  int socket = -1;               // of the connection, while it lasts
  uint64_t connected_ticks = 0;  // since boot: the connection existed by then
};
Peer peer_of(int socket);
// Returns the process that connected, as a pidfd, from the socket itself (SO_PEERPIDFD), so that no other
// process with its number is mistaken for it. Kernels before 6.5 find it by number: only if a process of the
// same user has it, which began before the connection. Invalid if it has ended.
os::UniqueFd peer_process(const Peer& peer);

Result<os::UniqueFd> connect_to(const std::string& path);
// Listens at `path` with this mode; replaces an existing socket file: hold a lock beside it.
Result<os::UniqueFd> listen_at(const std::string& path, mode_t mode);

}  // namespace minke::rpc
