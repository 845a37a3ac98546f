#include "os/pass_descriptors.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/result.h"

namespace minke::os {

namespace {

struct Received {
  ssize_t size;  // the system call's result
  bool cut;      // part of the message or of its descriptors is lost
};

Received receive(int socket, char* buffer, size_t size, std::vector<UniqueFd>& descriptors, int flags) {
  iovec part{buffer, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptorsAtOnce)];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t received;
  do {
    received = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received < 0) return {received, false};
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      descriptors.emplace_back(fd);
    }
  }
  return {received, (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0};
}

}  // namespace

ssize_t send_bytes(int socket, std::string_view bytes, std::span<const int> descriptors, int flags) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptorsAtOnce)];
  if (!descriptors.empty()) {
    MINKE_CHECK(descriptors.size() <= kMaxDescriptorsAtOnce);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent;
  do {
    sent = ::sendmsg(socket, &message, flags | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

ssize_t receive_bytes(int socket, char* buffer, size_t size, std::vector<UniqueFd>& descriptors, int flags) {
  return receive(socket, buffer, size, descriptors, flags).size;
}

std::optional<Packet> receive_packet(int socket, size_t most) {
  Packet packet{.bytes = std::string(most, '\0'), .descriptors = {}};
  const Received received = receive(socket, packet.bytes.data(), most, packet.descriptors, 0);
  if (received.size <= 0 || received.cut) return std::nullopt;
  packet.bytes.resize(static_cast<size_t>(received.size));
  return packet;
}

}  // namespace minke::os
