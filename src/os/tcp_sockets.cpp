#include "os/tcp_sockets.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace minke::os {

namespace {

struct Query {
  nlmsghdr header;
  inet_diag_req_v2 request;
};

Query query(uint8_t family, uint32_t states, uint16_t flags) {
  Query made{};
  made.header.nlmsg_len = sizeof made;
  made.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  made.header.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
  made.request.sdiag_family = family;
  made.request.sdiag_protocol = IPPROTO_TCP;
  made.request.idiag_states = states;
  made.request.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  made.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return made;
}

// The answer that a message has; null: none.
const inet_diag_msg* answer_in(const nlmsghdr* header) {
  if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY || header->nlmsg_len < NLMSG_LENGTH(sizeof(inet_diag_msg)))
    return nullptr;
  return static_cast<const inet_diag_msg*>(NLMSG_DATA(header));
}

using Buffer = std::array<char, 32768>;

}  // namespace

Result<TcpSockets> TcpSockets::open() {
  UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!socket) return failure_from_errno("the list of sockets", errno);
  const timeval patience{5, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return TcpSockets(std::move(socket));
}

Result<std::set<uint16_t>> TcpSockets::listened_by(uint32_t uid) const {
  std::set<uint16_t> ports;
  for (const uint8_t family : {uint8_t{AF_INET}, uint8_t{AF_INET6}}) {
    if (const Status added = add_listeners(family, uid, ports); !added) return failure(added.error());
  }
  return ports;
}

Status TcpSockets::add_listeners(uint8_t family, uint32_t uid, std::set<uint16_t>& ports) const {
  const Query all = query(family, 1U << TCP_LISTEN, NLM_F_DUMP);
  if (::send(socket_.get(), &all, sizeof all, 0) != sizeof all)
    return failure_from_errno("the list of sockets", errno);
  alignas(nlmsghdr) Buffer buffer;
  for (;;) {
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return failure_from_errno("the list of sockets", got == 0 ? EPROTO : errno);
    auto left = static_cast<uint32_t>(got);
    for (const auto* one = reinterpret_cast<const nlmsghdr*>(buffer.data()); NLMSG_OK(one, left);
         one = NLMSG_NEXT(one, left)) {
      if (one->nlmsg_type == NLMSG_DONE) return {};
      if (one->nlmsg_type == NLMSG_ERROR) {
        const int error = -static_cast<const nlmsgerr*>(NLMSG_DATA(one))->error;
        if (error == ENOENT || error == EAFNOSUPPORT) return {};  // no such sockets in this kernel
        return failure_from_errno("the list of sockets", error);
      }
      const inet_diag_msg* found = answer_in(one);
      if (found != nullptr && found->idiag_uid == uid) ports.insert(ntohs(found->id.idiag_sport));
    }
  }
}

std::optional<uint32_t> TcpSockets::owner_of(const sockaddr_in& from, const sockaddr_in& to) const {
  Query one = query(AF_INET, 1U << TCP_ESTABLISHED, 0);
  one.request.id.idiag_sport = from.sin_port;
  one.request.id.idiag_dport = to.sin_port;
  one.request.id.idiag_src[0] = from.sin_addr.s_addr;
  one.request.id.idiag_dst[0] = to.sin_addr.s_addr;
  if (::send(socket_.get(), &one, sizeof one, 0) != sizeof one) return std::nullopt;
  alignas(nlmsghdr) Buffer buffer;
  ssize_t got;
  do got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
  while (got < 0 && errno == EINTR);
  if (got <= 0) return std::nullopt;
  const auto* header = reinterpret_cast<const nlmsghdr*>(buffer.data());
  if (!NLMSG_OK(header, static_cast<uint32_t>(got))) return std::nullopt;
  const inet_diag_msg* found = answer_in(header);
  // The kernel may answer with a socket that listens where there is no connection.
  const bool is_it = found != nullptr && found->idiag_state != TCP_LISTEN &&
                     found->id.idiag_sport == from.sin_port && found->id.idiag_dport == to.sin_port;
  if (!is_it) return std::nullopt;
  // Sockets that nobody has any more are shown as root's.
  if (found->idiag_uid == 0 && found->idiag_state != TCP_ESTABLISHED) return std::nullopt;
  return found->idiag_uid;
}

}  // namespace minke::os
