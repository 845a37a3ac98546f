// Points in time, as in Slurm's options and columns.
//
// All are seconds since the epoch; 0 means "not known". Local time is that of localtime_r(3), so the
// process's time zone decides; the caller passes the present. Pure but for the time zone; may be
// called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::text {

// --begin, --deadline, -S, -E. Any case:
//   now[{+|-}count[seconds|minutes|hours|days|weeks]]     today  tomorrow  midnight  noon  fika  teatime
//   HH:MM[:SS] [AM|PM]     MMDD[YY]  MM/DD[/YY]  MM.DD[.YY]  YYYY-MM-DD     uts<seconds>
// and a date with a time of day, in either order, with a "T" or a space between. A time of day alone, or a
// date without a year, means the next such moment; with `past`, today, or the last such day. Fails with
// Slurm's "Invalid time specification (pos=N): ...".
Result<int64_t> parse_time(std::string_view text, int64_t now, bool past = false);

// YYYY-MM-DDTHH:MM:SS, "Unknown" for 0. `style` is the value of SLURM_TIME_FORMAT: "" and "standard" as
// above, "relative" ("Ystday 16:00", for which `now` is needed), anything else a strftime(3) format.
std::string format_time(int64_t time, std::string_view style = "", int64_t now = 0);

// As format_time, with `unknown` in place of "Unknown": "N/A".
std::string format_time_or(int64_t time, std::string_view unknown, std::string_view style = "",
                           int64_t now = 0);

}  // namespace minke::text
