#include "text/memory.h"

#include <cmath>
#include <cstdio>
#include <limits>

#include "text/number.h"

namespace minke::text {
namespace {

constexpr double kStep = 1024;
constexpr char kLetters[] = " KMGTP";

}  // namespace

Result<uint64_t> parse_mib(std::string_view text) {
  auto invalid = [&] { return failure("Invalid memory specification: " + std::string(text)); };
  text = skip_blanks_and_plus(text);
  size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  auto number = parse_unsigned(text.substr(0, digits));
  if (!number) return invalid();
  std::string_view suffix = text.substr(digits);
  char letter = suffix.empty() ? 'M' : to_upper(suffix[0]);
  if (suffix.size() > 2 || (suffix.size() == 2 && to_upper(suffix[1]) != 'B')) return invalid();
  int shift = 0;
  switch (letter) {
    case 'K':
      return *number / 1024 + (*number % 1024 != 0);
    case 'M':
      break;
    case 'G':
      shift = 10;
      break;
    case 'T':
      shift = 20;
      break;
    default:
      return invalid();
  }
  // The largest values are reserved as "not set" marks.
  if (*number > ((std::numeric_limits<uint64_t>::max() >> shift) - 2)) return invalid();
  return *number << shift;
}

std::optional<Unit> parse_unit(char letter) {
  switch (to_upper(letter)) {
    case 'K':
      return Unit::kKilo;
    case 'M':
      return Unit::kMega;
    case 'G':
      return Unit::kGiga;
    case 'T':
      return Unit::kTera;
    case 'P':
      return Unit::kPeta;
    default:
      return std::nullopt;
  }
}

std::string format_units(double number, Unit unit, Scaling scaling, std::optional<Unit> target) {
  if (!(number > 0)) return "0";
  int index = static_cast<int>(unit);
  constexpr int kLast = static_cast<int>(Unit::kPeta);
  if (target) {
    for (; index < static_cast<int>(*target); ++index) number /= kStep;
    for (; index > static_cast<int>(*target); --index) number *= kStep;
  } else if (scaling == Scaling::kAny) {
    for (; number >= kStep && index < kLast; ++index) number /= kStep;
  } else if (scaling == Scaling::kExact) {
    while (number >= kStep && index < kLast && std::fmod(std::floor(number), kStep / 2) == 0) {
      number /= kStep;
      ++index;
    }
  }
  char buffer[400];  // a double has at most 309 digits before the point
  if (number == std::floor(number)) {
    std::snprintf(buffer, sizeof buffer, "%.0f", number);
  } else {
    std::snprintf(buffer, sizeof buffer, "%.2f", number);
  }
  std::string out = buffer;
  if (index > 0) out += kLetters[index];
  return out;
}

std::string format_mib(uint64_t mib, Scaling scaling, std::optional<Unit> target) {
  return format_units(static_cast<double>(mib), Unit::kMega, scaling, target);
}

std::string format_kib_seff(double kib) {
  int index = 1;
  if (!(kib > 0)) return "0.00 MB";
  for (; kib >= kStep && index < static_cast<int>(Unit::kPeta); ++index) kib /= kStep;
  char buffer[400];
  std::snprintf(buffer, sizeof buffer, "%.2f %cB", kib, kLetters[index]);
  return buffer;
}

}  // namespace minke::text
