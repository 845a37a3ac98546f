// Frames: how messages travel over a Unix stream socket between commands, daemon and launcher.
//
// Greeting, once in each direction, before anything else: the bytes "MINKE", then the protocol version
// as two bytes, low first. Its form never changes, so that programs of different versions can always
// report the difference. Then frames: the length of the message in bytes and the number of its
// descriptors (four bytes each, low first), then the message. Descriptors travel (SCM_RIGHTS) with the
// first bytes of their frame, as many with each as the kernel takes; it may deliver them with the end of
// the frame before, hence the number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace minke::rpc {

constexpr uint16_t kProtocolVersion = 1;
constexpr size_t kGreetingBytes = 7;
constexpr size_t kFrameHeaderBytes = 8;
constexpr size_t kMaxRequestBytes = size_t{16} << 20;  // a 4 MiB script, its environment, and room to spare
constexpr size_t kMaxReplyBytes = size_t{64} << 20;
constexpr size_t kMaxDescriptors = 6000;       // of one frame
constexpr size_t kSmallFrameBytes = 16 << 10;  // received without asking

std::string greeting();
// Returns the peer's protocol version; 0 if the bytes are no greeting.
uint16_t parse_greeting(std::string_view bytes);
std::string version_mismatch(uint16_t theirs);  // for people

struct FrameHeader {
  size_t message_bytes = 0;
  size_t descriptors = 0;
};
std::string frame_header(const FrameHeader& header);  // kFrameHeaderBytes bytes
FrameHeader parse_frame_header(
    std::string_view bytes);  // of at least kFrameHeaderBytes; any values may come out

}  // namespace minke::rpc
