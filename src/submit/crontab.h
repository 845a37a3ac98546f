// A user's crontab, as Slurm's scrontab reads it: its entries, and the job of each.
//
// A line is blank, a comment, NAME=VALUE, or an entry: when (text/cron.h), and a command for /bin/sh. Lines
// that begin with #SCRON give options of sbatch to the next entry, and to no other. $NAME in a command is
// replaced by the VALUE of an earlier line; nothing else is replaced, neither in values nor in times. Pure;
// may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "submit/job_request.h"
#include "text/cron.h"

namespace minke::submit {

// What a cluster keeps for a user.
inline constexpr size_t kMostCrontabBytes = size_t{64} << 10;
inline constexpr size_t kMostCrontabEntries = 256;

struct CrontabEntry {
  uint32_t first_line = 0,
           last_line = 0;  // from 1; the first is that of its first #SCRON line, if it has any
  text::CronTimes times;
  std::vector<std::string> options;  // words of its #SCRON lines
  std::string command;               // with values in place of variables
  std::string script;                // that the job runs
};

// Errors name the line.
Result<std::vector<CrontabEntry>> read_crontab(std::string_view text);

// The job of an entry. `invocation` has the user's home as the working directory, and an environment whose
// variables count as they do for sbatch. Errors are whole lines for stderr.
Outcome<JobRequest> crontab_request(const CrontabEntry& entry, Invocation invocation);

// The text with "#DISABLED: " before the lines of `disabled` (pairs of first and last, from 1).
struct CrontabLines {
  uint32_t first = 0, last = 0;
};
std::string list_crontab(std::string_view text, const std::vector<CrontabLines>& disabled);

}  // namespace minke::submit
