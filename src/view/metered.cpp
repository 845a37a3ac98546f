#include "view/metered.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "model/step_record.pb.h"
#include "model/usage.pb.h"

namespace minke::view {
namespace {

using model::StepRecord;
using model::Usage;

const Usage::Extreme& pick(const Usage::Extremes& extremes, Metered what) {
  switch (what) {
    case Metered::kCpu:
      return extremes.cpu();
    case Metered::kRss:
      return extremes.rss();
    case Metered::kRead:
      return extremes.read();
    case Metered::kWrite:
      return extremes.write();
    case Metered::kFaults:
      break;
  }
  return extremes.faults();
}

}  // namespace

uint64_t total_usage(const StepRecord& step, Metered what) {
  const Usage& used = step.usage();
  switch (what) {
    case Metered::kCpu:
      return used.user_microseconds() + used.system_microseconds();
    case Metered::kRss:
      return std::max(used.total_rss_kib(), used.max_rss_kib());
    case Metered::kRead:
      return used.read_bytes();
    case Metered::kWrite:
      return used.write_bytes();
    case Metered::kFaults:
      break;
  }
  return used.major_faults();
}

uint64_t average_usage(const StepRecord& step, Metered what) {
  return total_usage(step, what) / std::max(1u, step.num_tasks());
}

Usage::Extreme extreme_usage(const StepRecord& step, Metered what, Reach reach) {
  const Usage& used = step.usage();
  if (used.has_most()) return pick(reach == Reach::kMost ? used.most() : used.least(), what);
  Usage::Extreme only;
  only.set_value(what == Metered::kRss ? used.max_rss_kib() : average_usage(step, what));
  if (step.num_nodes() == 1) only.set_node(step.node_list());
  return only;
}

void append_gpus(std::string& out, const StepRecord& step, MeasuredAs as) {
  const Usage::Gpus& gpus = step.usage().gpus();
  if (gpus.count() == 0 || as == MeasuredAs::kNot) return;
  const bool most = as == MeasuredAs::kMost;
  const double tasks = as == MeasuredAs::kMean ? std::max(1u, step.num_tasks()) : 1;
  fmt::format_to(
      std::back_inserter(out), ",gres/gpumem={:.0f}M,gres/gpuutil={:.0f}",
      static_cast<double>(most ? gpus.most_memory_bytes() : gpus.memory_bytes()) / (1 << 20) / tasks,
      (most ? gpus.most_utilization() : gpus.utilization()) / tasks);
}

void append_joules(std::string& out, uint64_t joules) {
  const auto end = std::back_inserter(out);
  joules < 1000 ? fmt::format_to(end, "{}", joules)
                : fmt::format_to(end, "{:.2f}K", static_cast<double>(joules) / 1000);
}

}  // namespace minke::view
