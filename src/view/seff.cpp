#include "view/seff.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "api/accounting.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "text/duration.h"
#include "text/memory.h"
#include "text/state.h"
#include "view/colour.h"
#include "view/efficiency.h"

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

  const Efficiency used = efficiency_of(accounted, context.now);
  line("CPU Utilized: {}", text::format_seconds(used.cpu_seconds));
  line("CPU Efficiency: {:.2f}% of {} core-walltime", used.cpu_percent(),
       text::format_seconds(used.core_seconds));
  line("Job Wall-clock time: {}", text::format_seconds(used.wall_seconds));
  line("Memory Utilized: {}", text::format_kib_seff(used.memory_kib));
  line("Memory Efficiency: {:.2f}% of {}", used.memory_percent(), text::format_kib_seff(used.held_kib));
  if (used.gpus != 0) {
    line("GPU Efficiency: {:.2f}% of {} GPU{}", used.gpu_percent, used.gpus, used.gpus == 1 ? "" : "s");
    line("GPU Memory Utilized: {}", text::format_kib_seff(used.gpu_memory_kib));
  }
  if (used.joules != 0)
    line("Energy Consumed: {} Joules ({:.2f} kWh)", used.joules, static_cast<double>(used.joules) / 3.6e6);
  if (job.state() == model::JOB_RUNNING)
    line("WARNING: Efficiency statistics may be misleading for RUNNING jobs.");
  return out;
}

std::string with_bars(const std::string& report) {
  constexpr size_t kColumn = 56, kWidth = 20;
  std::string out;
  for (std::string_view rest = report; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    out += line;
    constexpr std::string_view kBefore = "Efficiency: ";
    const size_t at = line.find(kBefore);
    const size_t percent = at == std::string_view::npos ? at : line.find('%', at);
    double value = 0;
    if (percent != std::string_view::npos &&
        std::from_chars(line.data() + at + kBefore.size(), line.data() + percent, value).ec == std::errc()) {
      const auto full = static_cast<size_t>(std::clamp(value, 0.0, 100.0) / 100 * kWidth + 0.5);
      const Meaning meaning = value < 30 ? Meaning::kBad : value < 60 ? Meaning::kWaiting : Meaning::kGood;
      out.append(line.size() < kColumn ? kColumn - line.size() : 1, ' ');
      out += "[" + coloured(std::string(full, '|'), meaning) + std::string(kWidth - full, ' ') + "]";
    }
    out += "\n";
  }
  return out;
}

}  // namespace minke::view
