// Bytes over a Unix socket, with open files beside them (SCM_RIGHTS). Any thread; blocks as the socket does.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "os/fd.h"

namespace minke::os {

constexpr size_t kMaxDescriptorsAtOnce = 250;  // SCM_MAX_FD is 253

// Both return the result of the system call, with errno; interrupted calls are repeated. Never more than
// kMaxDescriptorsAtOnce are sent.
ssize_t send_bytes(int socket, std::string_view bytes, std::span<const int> descriptors, int flags);
// Received descriptors are appended, close-on-exec.
ssize_t receive_bytes(int socket, char* buffer, size_t size, std::vector<UniqueFd>& descriptors, int flags);

// One message of a socket that keeps them apart (SOCK_SEQPACKET).
struct Packet {
  std::string bytes;
  std::vector<UniqueFd> descriptors;
};
// Absent if the other side closed, at an error, and if the message is longer than `most` or a descriptor was
// lost.
std::optional<Packet> receive_packet(int socket, size_t most);

}  // namespace minke::os
