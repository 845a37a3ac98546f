// Sizes of memory, as Slurm reads and writes them. 1 K is 1024; a number without a suffix is MiB.
//
// Pure; may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::text {

// Reads "4000", "4G", "500M", "1T", "1024K", also with a B ("4GB"), in any case. KiB are rounded up to MiB.
Result<uint64_t> parse_mib(std::string_view text);

enum class Unit { kNone, kKilo, kMega, kGiga, kTera, kPeta };

// K, M, G, T, P in either case, as --units takes them.
std::optional<Unit> parse_unit(char letter);

// How far a number may be scaled up before it is written.
enum class Scaling {
  kExact,  // only if at most half a unit is lost: 4G, 4000M, 1.50G (squeue, sacct by default)
  kAny,    // always: 3.91G
  kNone,   // never: 4096M (--noconvert)
};

// `number` is counted in `unit`; with `target` it is written in that unit (--units). A fraction gets
// two digits: "1.50G".
std::string format_units(double number, Unit unit, Scaling scaling = Scaling::kExact,
                         std::optional<Unit> target = std::nullopt);

// format_units of MiB: "4G", "500M", "0".
std::string format_mib(uint64_t mib, Scaling scaling = Scaling::kExact,
                       std::optional<Unit> target = std::nullopt);

// seff's form: two digits, a space, the unit: "1.21 GB", "0.00 MB" for nothing.
std::string format_kib_seff(double kib);

}  // namespace minke::text
