// The system calls beneath the conversations: Unix stream sockets that carry bytes and descriptors.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace minke::rpc {

struct Peer {  // from the kernel (SO_PEERCRED)
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};
Peer peer_of(int socket);

Result<os::UniqueFd> connect_to(const std::string& path);
// Listens at `path` with this mode; a socket file already there is replaced: hold a lock beside it.
Result<os::UniqueFd> listen_at(const std::string& path, mode_t mode);

// Both return what the system call does, with errno; interrupted calls are repeated.
ssize_t send_bytes(int socket, std::string_view bytes, std::span<const int> descriptors, int flags);
// Received descriptors are appended, close-on-exec.
ssize_t receive_bytes(int socket, char* buffer, size_t size, std::vector<os::UniqueFd>& descriptors,
                      int flags);

}  // namespace minke::rpc
