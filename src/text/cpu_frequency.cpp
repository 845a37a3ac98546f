#include "text/cpu_frequency.h"

#include "text/number.h"

namespace minke::text {
namespace {

// The highest that a job asks for in kilohertz; Slurm's names come after it.
constexpr uint64_t kMostKilohertz = 0x7fff'ffff;

std::optional<uint32_t> number_of(std::string_view word) {
  const uint64_t number = cpu_frequency_number(word);
  return number == 0 ? std::nullopt : std::optional(static_cast<uint32_t>(number));
}

}  // namespace

uint64_t cpu_frequency_number(std::string_view word) {
  uint64_t number = 0x8000'0001;
  for (const std::string_view name : {"low", "medium", "high", "highm1"}) {
    if (equals_ignoring_case(word, name)) return number;
    ++number;
  }
  return is_digits(word) ? parse_unsigned(word, kMostKilohertz).value_or(kMostKilohertz) : 0;
}

std::optional<uint32_t> governor_number(std::string_view word) {
  constexpr std::pair<std::string_view, uint32_t> kGovernors[] = {
      {"conservative", 0x8800'0000}, {"ondemand", 0x8400'0000},  {"performance", 0x8200'0000},
      {"powersave", 0x8100'0000},    {"userspace", 0x8080'0000}, {"schedutil", 0x8040'0000}};
  for (const auto& [name, number] : kGovernors)
    if (equals_ignoring_case(word, name)) return number;
  return std::nullopt;
}

CpuFrequency read_cpu_frequency(std::string_view given) {
  CpuFrequency asked;
  if (given.empty()) return asked;
  if (asked.governor = governor_number(given); asked.governor) return asked;
  const size_t colon = given.find(':');
  const std::string_view range = given.substr(0, colon);
  const size_t dash = range.find('-');
  if (dash == std::string_view::npos) {
    asked.most = number_of(range);
  } else {
    asked.least = number_of(range.substr(0, dash));
    asked.most = number_of(range.substr(dash + 1));
  }
  asked.governor = colon == std::string_view::npos ? governor_number("userspace")
                                                   : governor_number(given.substr(colon + 1));
  return asked;
}

}  // namespace minke::text
