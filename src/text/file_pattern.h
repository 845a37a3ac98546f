// File name patterns of stdin, stdout and stderr: "slurm-%j.out", "%x-%A_%4a.log".
//
//   %%  a percent sign            %N  short host name
//   %A  job id of the array       %n  number of the node within the job
//   %a  index in the array        %s  step id
//   %b  that index modulo 10      %t  rank of the task
//   %J  job id.step id            %u  user name
//   %j  job id                    %x  job name
// Digits after the percent sign pad %A %a %j %J %n %s %t with zeros to that width, at most 10.
// Anything else is kept as it is, or, if it has a width, without its percent sign. A pattern with a
// backslash is not expanded at all; its backslashes are removed ("\\" leaves one). Pure; may be
// called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace minke::text {

struct FilePatternValues {
  uint32_t job_id = 0;
  uint32_t array_job_id = 0;              // 0: not part of an array; %A is then the job id
  std::optional<uint32_t> array_task_id;  // absent: %a is 4294967294, as in Slurm
  std::string step;  // "0", "batch"; %J adds it behind the job id only when it is a number
  uint32_t node_index = 0;
  uint32_t task_rank = 0;
  std::string host_name;  // empty: the job has no node yet, and %N stays
  std::string user_name;
  std::string job_name;
};

std::string expand_file_pattern(std::string_view pattern, const FilePatternValues& values);

// Whether tasks of one step get different names (%t, %n, %N): they cannot share one open file then.
bool differs_by_task(std::string_view pattern);

}  // namespace minke::text
