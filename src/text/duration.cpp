#include "text/duration.h"

#include <cstdio>
#include <optional>
#include <vector>

#include "text/number.h"

namespace minke::text {
namespace {

constexpr int64_t kMinute = 60, kHour = 3600, kDay = 86400;
constexpr uint64_t kMaxNumber = 4294967293;  // of one field; the sum stays far within int64_t

// A number of any length; what is too large is the largest.
std::optional<uint64_t> parse_saturated(std::string_view text) {
  return is_digits(text) ? std::optional<uint64_t>(parse_unsigned(text, kMaxNumber).value_or(kMaxNumber))
                         : std::nullopt;
}

tl::unexpected<Error> invalid(std::string_view text) {
  return failure("Invalid time limit specification: " + std::string(text));
}

}  // namespace

Result<int64_t> parse_seconds(std::string_view text) {
  if (text == "-1" || equals_ignoring_case(text, "unlimited") || equals_ignoring_case(text, "infinite")) {
    return -1;
  }
  size_t dash = text.find('-');
  bool with_days = dash != std::string_view::npos;
  int64_t total = 0;
  std::string_view clock = text;
  if (with_days) {
    auto days = parse_saturated(text.substr(0, dash));
    if (!days) return invalid(text);
    total = static_cast<int64_t>(*days) * kDay;
    clock = text.substr(dash + 1);
    if (clock.empty()) return total;  // Slurm reads "1-" as one day
  }
  std::vector<std::string_view> fields = split(clock, ':');
  if (fields.size() > 3) return invalid(text);
  std::vector<int64_t> numbers;
  for (std::string_view field : fields) {
    auto number = parse_saturated(field);
    if (!number) return invalid(text);
    numbers.push_back(static_cast<int64_t>(*number));
  }
  // After days the first field is hours. Without days, two fields are minutes and seconds, one is minutes.
  size_t unit = with_days || numbers.size() == 3 ? 0 : 1;
  static constexpr int64_t kUnits[] = {kHour, kMinute, 1};
  for (size_t i = 0; i < numbers.size(); ++i) total += numbers[i] * kUnits[unit + i];
  return total;
}

Result<uint32_t> parse_minutes(std::string_view text) {
  Result<int64_t> seconds = parse_seconds(text);
  if (!seconds) return failure(seconds.error());
  if (*seconds < 0) return kUnlimited;
  int64_t minutes = (*seconds + kMinute - 1) / kMinute;
  return minutes > static_cast<int64_t>(kMaxNumber) ? kUnlimited : static_cast<uint32_t>(minutes);
}

std::string format_seconds(int64_t seconds) {
  if (seconds < 0) return "INVALID";
  char buffer[64];
  int hours = static_cast<int>(seconds % kDay / kHour);
  int minutes = static_cast<int>(seconds % kHour / kMinute);
  int rest = static_cast<int>(seconds % kMinute);
  if (seconds >= kDay) {
    std::snprintf(buffer, sizeof buffer, "%lld-%02d:%02d:%02d", static_cast<long long>(seconds / kDay), hours,
                  minutes, rest);
  } else {
    std::snprintf(buffer, sizeof buffer, "%02d:%02d:%02d", hours, minutes, rest);
  }
  return buffer;
}

std::string format_seconds_short(int64_t seconds) {
  if (seconds < 0) return "INVALID";
  if (seconds >= kDay) return format_seconds(seconds);
  char buffer[64];
  int minutes = static_cast<int>(seconds % kHour / kMinute);
  int rest = static_cast<int>(seconds % kMinute);
  if (seconds >= kHour) {
    std::snprintf(buffer, sizeof buffer, "%d:%02d:%02d", static_cast<int>(seconds / kHour), minutes, rest);
  } else {
    std::snprintf(buffer, sizeof buffer, "%d:%02d", minutes, rest);
  }
  return buffer;
}

std::string format_minutes(uint32_t minutes) {
  return minutes == kUnlimited ? "UNLIMITED" : format_seconds(int64_t{minutes} * kMinute);
}

std::string format_minutes_short(uint32_t minutes) {
  return minutes == kUnlimited ? "UNLIMITED" : format_seconds_short(int64_t{minutes} * kMinute);
}

}  // namespace minke::text
