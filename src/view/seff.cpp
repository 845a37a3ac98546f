#include "view/seff.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "api/accounting.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/step_record.pb.h"
#include "model/usage.pb.h"
#include "text/duration.h"
#include "text/memory.h"
#include "text/state.h"

namespace minke::view {

std::string seff_report(const api::AccountedJob& accounted, const DisplayContext& context) {
  const model::JobRecord& job = accounted.job();
  std::string out;
  auto line = [&]<typename... Values>(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Values>(values)...);
    out += '\n';
  };

  line("Job ID: {}", job.job_id());
  if (job.array_job_id() != 0) {
    std::string id;
    append_job_id(id, job, nullptr, context.task_list_limit);
    line("Array Job ID: {}", id);
  }
  line("Cluster: {}", context.cluster_name);
  line("User/Group: {}/{}", job.user_name(), job.group_name());
  std::string_view state = text::job_state_name(job.state());
  if (is_finished(job.state())) {
    line("State: {} (exit code {})", state, text::exit_status_of(accounted_exit_code(job)));
  } else {
    line("State: {}", state);
  }
  const uint32_t cores = std::max(1u, job.num_cpus());
  const uint32_t nodes = std::max(1u, job.num_nodes());
  if (cores == 1) {
    line("Cores: 1");
  } else {
    line("Nodes: {}", nodes);
    line("Cores per node: {}", cores / nodes);
  }
  if (job.state() == model::JOB_PENDING) {
    line("Efficiency not available for jobs in the PENDING state.");
    return out;
  }

  const uint64_t used_microseconds = job.usage().user_microseconds() + job.usage().system_microseconds();
  const int64_t used_seconds = static_cast<int64_t>((used_microseconds + 500000) / 1000000);
  const int64_t wall_seconds = elapsed_seconds(job, context.now);
  const int64_t core_seconds = wall_seconds * cores;
  double memory_kib = static_cast<double>(job.usage().max_rss_kib());
  for (const model::StepRecord& step : accounted.steps())
    memory_kib = std::max(memory_kib,
                          static_cast<double>(step.usage().max_rss_kib()) * std::max(1u, step.num_tasks()));
  const double held_kib = static_cast<double>(job.memory_mib()) * 1024;

  line("CPU Utilized: {}", text::format_seconds(used_seconds));
  line(
      "CPU Efficiency: {:.2f}% of {} core-walltime",
      core_seconds == 0 ? 0.0 : 100.0 * static_cast<double>(used_seconds) / static_cast<double>(core_seconds),
      text::format_seconds(core_seconds));
  line("Job Wall-clock time: {}", text::format_seconds(wall_seconds));
  line("Memory Utilized: {}", text::format_kib_seff(memory_kib));
  line("Memory Efficiency: {:.2f}% of {}", held_kib == 0 ? 0.0 : 100.0 * memory_kib / held_kib,
       text::format_kib_seff(held_kib));
  if (const model::Usage::Gpus& gpus = job.usage().gpus(); gpus.count() != 0) {
    line("GPU Efficiency: {:.2f}% of {} GPU{}", gpus.utilization() / gpus.count(), gpus.count(),
         gpus.count() == 1 ? "" : "s");
    line("GPU Memory Utilized: {}",
         text::format_kib_seff(static_cast<double>(gpus.most_memory_bytes()) / 1024));
  }
  if (const uint64_t joules = job.usage().energy_joules(); joules != 0)
    line("Energy Consumed: {} Joules ({:.2f} kWh)", joules, static_cast<double>(joules) / 3.6e6);
  if (job.state() == model::JOB_RUNNING)
    line("WARNING: Efficiency statistics may be misleading for RUNNING jobs.");
  return out;
}

}  // namespace minke::view
