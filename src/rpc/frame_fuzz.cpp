// Clients may send any bytes: they end in whole frames, in a closed connection, or in waiting for more; a
// message that parses can be sent again.
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "os/event_loop.h"
#include "rpc/connection.h"
#include "rpc/frame.h"
#include "rpc/messages.pb.h"

using namespace minke;

namespace {

constexpr size_t kLimit = 4096;  // of a frame, so that inputs of some hundred bytes reach it

template <typename Message>
void round_trip(std::string_view bytes) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  Message again;
  MINKE_CHECK(again.ParseFromString(message.SerializeAsString()));
}

}  // namespace

// With an even first byte, a greeting comes before the rest, which is then frames.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 2 * kLimit) return 0;
  std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  rpc::parse_greeting(bytes);
  round_trip<rpc::ClientMessage>(bytes);
  round_trip<rpc::ServerMessage>(bytes);
  if (data[0] % 2 == 0) bytes = rpc::greeting() + bytes;

  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return 0;
  if (write(sockets[1], bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) __builtin_trap();
  shutdown(sockets[1], SHUT_WR);
  os::EventLoop loop;
  size_t received = 0;
  bool closed = false;
  const auto connection = rpc::Connection::start(loop, os::UniqueFd(sockets[0]), kLimit,
                                                 {[&](std::string_view frame, auto) {
                                                    MINKE_CHECK(!closed && frame.size() <= kLimit);
                                                    received += frame.size();
                                                    round_trip<rpc::ClientMessage>(frame);
                                                  },
                                                  [&](Status) {
                                                    closed = true;
                                                    loop.stop();
                                                  }});
  loop.run();
  MINKE_CHECK(closed && received <= bytes.size());
  close(sockets[1]);
  return 0;
}
