#include "environment/job_paths.h"

#include "base/version.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"

namespace minke::environment {

text::FilePatternValues pattern_values(const model::JobRecord& record) {
  text::FilePatternValues values;
  values.job_id = record.job_id();
  values.array_job_id = record.array_job_id() != 0 ? record.array_job_id() : record.job_id();
  if (record.has_array_task_id()) values.array_task_id = record.array_task_id();
  values.job_name = record.spec().name();
  values.user_name = record.user_name();
  values.host_name = record.batch_host();
  return values;
}

JobPaths paths_of(const model::JobRecord& record) {
  const model::JobSpec& spec = record.spec();
  text::FilePatternValues values = pattern_values(record);
  values.step = "batch";
  if (values.host_name.empty() && spoken_release() >= kSlurm26) values.host_name = "(null)";  // it waits
  const auto expand = [&](const std::string& pattern) -> std::string {
    if (pattern.empty()) return {};
    const std::string path = text::expand_file_pattern(pattern, values);
    if (path.empty() || path.front() == '/') return path;
    return spec.work_dir() + (spec.work_dir().ends_with('/') ? "" : "/") + path;
  };
  const char* default_pattern = record.array_job_id() != 0 ? "slurm-%A_%a.out" : "slurm-%j.out";
  return {expand(spec.stdin_path()),
          expand(spec.stdout_path().empty() ? default_pattern : spec.stdout_path()),
          expand(spec.stderr_path())};
}

}  // namespace minke::environment
