#include "view/job_settings.h"

#include <algorithm>

#include "model/job_record.pb.h"
#include "text/duration.h"
#include "text/job_id.h"
#include "text/nearest.h"
#include "text/number.h"
#include "text/printable.h"

namespace minke::view {
namespace {

std::string begin_of(const model::JobRecord& job, const DisplayContext& context) {
  if (job.spec().begin_time() == 0) return "now";
  std::string out;
  append_time(out, job.spec().begin_time(), context);
  return out;
}

std::string dependency_of(const model::JobRecord& job) {
  std::string out;
  append_dependencies(out, job);
  if (out == "(null)") return "";
  for (size_t at; (at = out.find("(unfulfilled)")) != std::string::npos;) out.erase(at, 13);
  return out;
}

}  // namespace

JobSettings job_settings(const model::JobRecord& job, const DisplayContext& context) {
  const model::JobSpec& spec = job.spec();
  JobSettings out = {
      {"JobName", text::printable(spec.name())},
      {"Partition", job.partition()},
      {"TimeLimit", text::format_minutes(job.time_limit_minutes())},
      {"NumNodes", std::to_string(std::max(1u, spec.min_nodes()))},
      {"NumTasks", std::to_string(std::max(1u, job.num_tasks()))},
  };
  if (spec.has_mem_per_node_mib()) {
    out.emplace_back("MinMemoryNode", std::to_string(spec.mem_per_node_mib()) + "M");
  } else if (spec.has_mem_per_cpu_mib()) {
    out.emplace_back("MinMemoryCPU", std::to_string(spec.mem_per_cpu_mib()) + "M");
  }
  out.emplace_back("StartTime", begin_of(job, context));
  out.emplace_back("Dependency", dependency_of(job));
  out.emplace_back("Features", text::printable(spec.constraint()));
  out.emplace_back("Nice", std::to_string(spec.nice()));
  out.emplace_back("Account", text::printable(job.account()));
  out.emplace_back("QOS", text::printable(job.qos()));
  if (spec.has_array() && !job.has_array_task_id())
    out.emplace_back("ArrayTaskThrottle", std::to_string(spec.array().max_running()));
  out.emplace_back("Comment", text::printable(spec.comment()));
  return out;
}

std::string settings_text(const model::JobRecord& job, const JobSettings& settings) {
  std::string out = "# Job " + text::format_job_id(job) +
                    ". Change the values behind the =; save and leave the editor to apply them.\n"
                    "# A line that you remove stays as it was. Without a change nothing happens.\n\n";
  for (const auto& [name, value] : settings) out.append(name).append("=").append(value).append("\n");
  return out;
}

Result<JobSettings> changed_settings(const JobSettings& before, std::string_view text) {
  JobSettings changed;
  size_t number = 0;
  for (const std::string_view raw : text::split(text, '\n')) {
    ++number;
    const std::string_view line = text::trim(raw);
    if (line.empty() || line.front() == '#') continue;
    const std::string where = "line " + std::to_string(number) + ": ";
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos)
      return failure(where + "\"" + text::printable(line) + "\" is not NAME=VALUE");
    const std::string_view name = text::trim(line.substr(0, equals));
    const auto known = std::find_if(before.begin(), before.end(), [&](const auto& one) {
      return text::equals_ignoring_case(one.first, name);
    });
    if (known == before.end()) {
      std::vector<std::string_view> names;
      for (const auto& one : before) names.emplace_back(one.first);
      const std::string_view meant = text::nearest(name, names);
      return failure(where + "there is no setting " + text::printable(name) +
                     (meant.empty() ? "" : "; did you mean " + std::string(meant) + "?"));
    }
    const std::string value(text::trim(line.substr(equals + 1)));
    if (value != known->second) changed.emplace_back(known->first, value);
  }
  return changed;
}

}  // namespace minke::view
