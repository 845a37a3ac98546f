// The form of slurm.conf: lines of "Name=value" words; the first word tells what the line is about.
//
// As slurm.conf(5) describes it: `#` begins a comment unless a backslash stands before it; a backslash at
// the end of a line joins the next one to it; a value with blanks stands in double quotes; blanks may
// surround the "="; "Include FILE" is one word without "=". The meaning of the names is left to the
// caller. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace minke::text {

struct SlurmConfLine {
  uint32_t number = 0;                                     // of the first line of the entry, from 1
  std::vector<std::pair<std::string, std::string>> words;  // at least one; names as written
};

// Fails with "LINE: problem", which the caller puts behind the file's name.
Result<std::vector<SlurmConfLine>> parse_slurm_conf(std::string_view text);

}  // namespace minke::text
