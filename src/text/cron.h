// When an entry of a crontab is due, as Slurm's scrontab reads and lists it.
//
// An entry begins with five fields (minute, hour, day of the month, month, day of the week), or with a word
// such as
// @hourly. As in cron, where both kinds of days are restricted, either makes a day fit. Times are those of
// the process's time zone; an hour that a change of the clock leaves out is passed over, one that comes twice
// counts once. Pure but for the time zone; may be called from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::text {

struct CronTimes {
  enum Part { kMinute, kHour, kDay, kMonth, kWeekDay };
  struct Field {
    uint64_t values = 0;  // a bit for each
    bool any = false;     // "*"
    bool has(int value) const { return (values >> value & 1) != 0; }
  };
  std::array<Field, 5> fields;
};

struct CronLine {
  CronTimes times;
  size_t length = 0;  // so many bytes of the line tell the times; the command follows, behind blanks
};

// Reads the times at the beginning of a line. Errors say which field is wrong and what it may be.
Result<CronLine> read_cron_times(std::string_view line);

// Five fields, each with its values listed: "0,30 0-23 * * 1-5". read_cron_times() reads it as the same
// times.
std::string format_cron_times(const CronTimes& times);

// The first time later than `after` (both s since the epoch), which is the beginning of a minute. 0: there is
// none within the next nine years.
int64_t next_cron_time(const CronTimes& times, int64_t after);

}  // namespace minke::text
