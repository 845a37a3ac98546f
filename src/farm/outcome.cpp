#include "farm/outcome.h"

#include <cstring>

#include "farm/check_sum.h"

namespace minke::farm {
namespace {

// Fields in a fixed order, little end first, behind the check sum of what follows.
class Packer {
 public:
  explicit Packer(char* bytes) : at_(bytes) {}
  void put(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) *at_++ = static_cast<char>(value >> (8 * i));
  }

 private:
  char* at_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}
  uint64_t take(int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= uint64_t{static_cast<unsigned char>(bytes_[at_++])} << (8 * i);
    return value;
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

template <size_t kSize>
void seal(std::array<char, kSize>& bytes) {
  Packer(bytes.data()).put(check_sum({bytes.data() + 4, kSize - 4}), 4);
}

bool is_whole(std::string_view bytes, size_t size) {
  return bytes.size() == size && Unpacker(bytes).take(4) == check_sum(bytes.substr(4));
}

}  // namespace

std::string ending_text(Ending ending, int code) {
  switch (ending) {
    case Ending::kExited:
      return "exit code " + std::to_string(code);
    case Ending::kSignalled:
      return "signal " + std::to_string(code);
    case Ending::kOutOfMemory:
      return "out of memory";
    case Ending::kLost:
      return "lost with its job";
    case Ending::kNodeFail:
      return "lost with its node";
    case Ending::kStopped:
      return "stopped with its job";
    case Ending::kNotStarted:
      return std::string("cannot be started: ") + std::strerror(code);
  }
  return {};
}

OutcomeBytes pack(const Outcome& outcome) {
  OutcomeBytes bytes{};
  Packer to(bytes.data() + 4);
  to.put(outcome.attempt, 4);
  to.put(outcome.number, 8);
  to.put(static_cast<uint8_t>(outcome.ending), 1);
  to.put(outcome.again ? 1 : 0, 1);
  to.put(outcome.slot, 2);
  to.put(static_cast<uint32_t>(outcome.code), 4);
  to.put(static_cast<uint64_t>(outcome.started_ms), 8);
  to.put(outcome.run_us, 8);
  to.put(outcome.output_at, 8);
  to.put(outcome.output_bytes, 8);
  to.put(outcome.max_rss_kib, 4);
  seal(bytes);
  return bytes;
}

std::optional<Outcome> unpack_outcome(std::string_view bytes) {
  if (!is_whole(bytes, kOutcomeBytes)) return std::nullopt;
  Unpacker from(bytes.substr(4));
  Outcome outcome;
  outcome.attempt = static_cast<uint32_t>(from.take(4));
  outcome.number = from.take(8);
  const uint64_t ending = from.take(1);
  if (ending >= kEndings || outcome.number == 0) return std::nullopt;
  outcome.ending = static_cast<Ending>(ending);
  outcome.again = from.take(1) != 0;
  outcome.slot = static_cast<uint16_t>(from.take(2));
  outcome.code = static_cast<int32_t>(from.take(4));
  outcome.started_ms = static_cast<int64_t>(from.take(8));
  outcome.run_us = from.take(8);
  outcome.output_at = from.take(8);
  outcome.output_bytes = from.take(8);
  outcome.max_rss_kib = static_cast<uint32_t>(from.take(4));
  return outcome;
}

std::array<char, kRunningBytes> pack(const Running& running) {
  std::array<char, kRunningBytes> bytes{};
  Packer to(bytes.data() + 4);
  to.put(running.attempt, 4);
  to.put(running.number, 8);
  to.put(static_cast<uint64_t>(running.started_ms), 8);
  seal(bytes);
  return bytes;
}

std::optional<Running> unpack_running(std::string_view bytes) {
  if (!is_whole(bytes, kRunningBytes)) return std::nullopt;
  Unpacker from(bytes.substr(4));
  Running running;
  running.attempt = static_cast<uint32_t>(from.take(4));
  running.number = from.take(8);
  running.started_ms = static_cast<int64_t>(from.take(8));
  return running;
}

}  // namespace minke::farm
