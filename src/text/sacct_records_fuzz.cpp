// Reading any dump gives records of jobs that have ended, or an error for a line.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "model/job_state.pb.h"
#include "text/number.h"
#include "text/sacct_records.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  minke::text::SacctReader reader;
  for (const std::string_view line : minke::text::split({reinterpret_cast<const char*>(data), size}, '\n'))
    (void)reader.line(line);
  reader.finish();
  for (const auto& one : reader.take()) {
    if (one.job.job_id() == 0 || one.job.state() <= minke::model::JOB_SUSPENDED) std::abort();
    if (one.job.end_time() <= 0 || one.job.submit_time() <= 0) std::abort();
    for (const auto& step : one.steps) {
      if (step.job_id() != one.job.job_id() || step.num_tasks() == 0) std::abort();
    }
  }
  return 0;
}
