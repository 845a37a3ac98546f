#include "text/sluid.h"

#include <algorithm>

#include "model/job_record.pb.h"

namespace minke::text {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";  // Crockford's base 32
constexpr size_t kLength = 13;
constexpr int64_t kEarliest = 1577836800;  // 2020-01-01: 32 bits of seconds from there last beyond 2150

}  // namespace

std::string format_sluid(const Sluid& sluid) {
  const auto seconds =
      static_cast<uint64_t>(std::clamp<int64_t>(sluid.submit_time - kEarliest, 0, UINT32_MAX));
  uint64_t rest = seconds << 32 | sluid.job_id;
  std::string out(1 + kLength, 's');
  for (size_t at = kLength; at > 0; --at, rest >>= 5) out[at] = kDigits[rest & 31];
  return out;
}

std::string format_sluid(const model::JobRecord& job) {
  return format_sluid({job.submit_time(), job.job_id()});
}

std::optional<Sluid> parse_sluid(std::string_view text) {
  if (text.size() != 1 + kLength || (text[0] != 's' && text[0] != 'S')) return std::nullopt;
  uint64_t value = 0;
  for (char letter : text.substr(1)) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    const size_t digit = kDigits.find(letter);
    if (digit == std::string_view::npos || value >> 59 != 0) return std::nullopt;
    value = value << 5 | digit;
  }
  const auto job_id = static_cast<uint32_t>(value);
  if (job_id == 0) return std::nullopt;
  return Sluid{kEarliest + static_cast<int64_t>(value >> 32), job_id};
}

}  // namespace minke::text
