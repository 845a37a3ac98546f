// Time limits and spans of time, as Slurm reads and writes them.
//
// Read: minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes,
// days-hours:minutes:seconds, and UNLIMITED, INFINITE or -1.
// Written: [days-]hh:mm:ss, and the short form of squeue.
// Pure; may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::text {

inline constexpr uint32_t kUnlimited = 4294967295;  // Slurm's INFINITE, of minutes and of counts

// Returns minutes, with seconds rounded up to the next minute, or kUnlimited if no limit is meant. "0" is 0;
// the caller decides what zero means (for --time it is no limit). Fails on anything else and above
// 4294967293 minutes.
Result<uint32_t> parse_minutes(std::string_view text);

// Reads the same forms as seconds; returns -1 if no limit is meant.
Result<int64_t> parse_seconds(std::string_view text);

std::string format_seconds(int64_t seconds);         // [D-]HH:MM:SS; "INVALID" below 0
std::string format_seconds_short(int64_t seconds);   // squeue's %M: M:SS, H:MM:SS, D-HH:MM:SS
std::string format_minutes(uint32_t minutes);        // [D-]HH:MM:SS, "UNLIMITED"
std::string format_minutes_short(uint32_t minutes);  // squeue's %l: M:SS, H:MM:SS, D-HH:MM:SS, "UNLIMITED"

}  // namespace minke::text
