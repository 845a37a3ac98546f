#include "helpers/end_details.h"

#include <string>

#include "api/accounting.pb.h"
#include "environment/job_paths.h"
#include "helpers/mail/advice.h"
#include "helpers/mail/compose.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "os/user_files.h"
#include "text/memory.h"
#include "view/efficiency.h"
#include "view/text.h"

namespace minke::helpers {
namespace {

constexpr size_t kLogBytes = 16384;
constexpr size_t kLines = 10;

// A job that used more memory than it asked for, and was let, would be ended where memory is held.
std::string about_memory(const api::AccountedJob& accounted) {
  const view::Efficiency used = view::efficiency_of(accounted, accounted.job().end_time());
  if (used.held_kib <= 0 || used.memory_kib <= used.held_kib * 1.05 ||
      accounted.job().state() == model::JOB_OOM)
    return "";
  const auto size = [](double kib) { return text::format_mib(static_cast<uint64_t>(kib / 1024)); };
  return "It used " + size(used.memory_kib) + " of memory and had asked for " + size(used.held_kib) +
         ". This cluster did not hold it to that; others end such a job.";
}

}  // namespace

view::EndedDetails details_of_end(const api::AccountedJob& accounted) {
  const model::JobRecord& job = accounted.job();
  view::EndedDetails details;
  const bool never_ran = job.start_time() == 0 || job.reason() == model::FAIL_LAUNCH;
  const bool is_bad = job.state() != model::JOB_COMPLETE && job.state() != model::JOB_CANCELLED;
  if (is_bad && !never_ran && !job.spec().interactive()) {
    environment::JobPaths paths = environment::paths_of(job);
    for (const std::string& path : {paths.error, paths.out}) {
      if (path.empty() || path == "/dev/null" || !details.log.empty()) continue;
      const auto text = os::read_tail_as(job.uid(), job.gid(), path, kLogBytes);
      if (!text) continue;
      details.log_path = path;
      details.log = last_lines(*text, kLines);
    }
  }
  if (!never_ran) details.advice = advice(accounted, details.log);
  if (std::string memory = about_memory(accounted); !memory.empty())
    details.advice.push_back(std::move(memory));
  return details;
}

}  // namespace minke::helpers
