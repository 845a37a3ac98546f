#include "rpc/frame.h"

namespace minke::rpc {

namespace {
constexpr std::string_view kMagic = "MINKE";
}

std::string greeting() {
  std::string bytes(kMagic);
  bytes.push_back(static_cast<char>(kProtocolVersion & 0xff));
  bytes.push_back(static_cast<char>(kProtocolVersion >> 8));
  return bytes;
}

uint16_t parse_greeting(std::string_view bytes) {
  if (bytes.size() < kGreetingBytes || bytes.substr(0, kMagic.size()) != kMagic) return 0;
  const auto low = static_cast<unsigned char>(bytes[5]);
  const auto high = static_cast<unsigned char>(bytes[6]);
  return static_cast<uint16_t>(low | (high << 8));
}

std::string frame_header(const FrameHeader& header) {
  std::string bytes;
  for (const size_t value : {header.message_bytes, header.descriptors}) {
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>((value >> shift) & 0xff));
  }
  return bytes;
}

FrameHeader parse_frame_header(std::string_view bytes) {
  const auto number_at = [&](size_t offset) {
    size_t value = 0;
    for (size_t i = 0; i < 4; ++i) {
      value |= static_cast<size_t>(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
    }
    return value;
  };
  return {number_at(0), number_at(4)};
}

std::string version_mismatch(uint16_t theirs) {
  if (theirs == 0) return "the peer does not speak Minke's protocol";
  return "the peer speaks protocol version " + std::to_string(theirs) + ", this program version " +
         std::to_string(kProtocolVersion);
}

}  // namespace minke::rpc
