// Jobs as an argument of hold, release, suspend, requeue and the like: "12,13_4", with or without "jobid=" or
// "job=" before them.
#pragma once

#include <string_view>
#include <vector>

#include "text/job_id.h"
#include "text/number.h"

namespace minke::cli {

inline Result<std::vector<text::JobReference>> parse_jobs(std::string_view word) {
  for (const std::string_view key : {"jobid=", "job="}) {
    if (!text::starts_with_ignoring_case(word, key)) continue;
    word.remove_prefix(key.size());
    break;
  }
  return text::parse_job_id_list(word);
}

}  // namespace minke::cli
