// Frames: how messages travel over a Unix stream socket between commands, daemon and launcher.
//
// Greeting, once in each direction, before anything else: the bytes "MINKE", then the protocol version as two
// bytes, low first. It never changes its form, so that programs of different versions can always tell each
// other so. Then frames: the length of the message in bytes (four bytes, low first), then the message.
// Descriptors travel (SCM_RIGHTS) with the first byte of the frame they belong to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace minke::rpc {

constexpr uint16_t kProtocolVersion = 1;
constexpr size_t kGreetingBytes = 7;
constexpr size_t kFrameHeaderBytes = 4;
constexpr size_t kMaxRequestBytes = size_t{16} << 20;  // a 4 MiB script, its environment, and room to spare
constexpr size_t kMaxReplyBytes = size_t{64} << 20;
constexpr size_t kMaxDescriptors = 250;                // SCM_MAX_FD is 253

std::string greeting();
// The peer's protocol version; 0 where the bytes are no greeting.
uint16_t parse_greeting(std::string_view bytes);

}  // namespace minke::rpc
