#include "portal/door_wire.h"

#include <algorithm>

namespace minke::portal {

std::string door_bytes(const DoorMessage& message) {
  std::string bytes(1, static_cast<char>(message.word));
  bytes += message.key;
  bytes += message.text.substr(0, kMostDoorText);
  return bytes;
}

std::optional<DoorMessage> read_door_bytes(std::string_view bytes) {
  if (bytes.size() < 1 + kDoorKey || bytes.size() > 1 + kDoorKey + kMostDoorText) return std::nullopt;
  const auto word = static_cast<uint8_t>(bytes[0]);
  if (word < static_cast<uint8_t>(DoorWord::kBegin) || word > static_cast<uint8_t>(DoorWord::kLast))
    return std::nullopt;
  return DoorMessage{static_cast<DoorWord>(word), std::string(bytes.substr(1, kDoorKey)),
                     std::string(bytes.substr(1 + kDoorKey))};
}

bool is_login_name(std::string_view name) {
  constexpr size_t kMost = 64;
  if (name.empty() || name.size() > kMost || name.front() == '-' || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '@';
  });
}

}  // namespace minke::portal
