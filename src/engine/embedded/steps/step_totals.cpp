#include "engine/embedded/steps/step_totals.h"

#include <algorithm>

#include "model/usage.pb.h"

namespace minke::engine {
namespace {

using model::Usage;

uint64_t cpu(const Usage& usage) {
  return usage.user_microseconds() + usage.system_microseconds();
}

void set(Usage::Extreme& extreme, uint64_t value, uint32_t rank, const std::string& node) {
  extreme.set_value(value);
  extreme.set_task(rank);
  extreme.set_node(node);
}

void widen(Usage& step, const Usage& task, uint32_t rank, const std::string& node) {
  const bool first = !step.has_most();
  Usage::Extremes& most = *step.mutable_most();
  Usage::Extremes& least = *step.mutable_least();
  const auto consider = [&](Usage::Extreme& highest, Usage::Extreme& lowest, uint64_t value) {
    if (first || value > highest.value()) set(highest, value, rank, node);
    if (first || value < lowest.value()) set(lowest, value, rank, node);
  };
  consider(*most.mutable_cpu(), *least.mutable_cpu(), cpu(task));
  consider(*most.mutable_rss(), *least.mutable_rss(), task.max_rss_kib());
  consider(*most.mutable_read(), *least.mutable_read(), task.read_bytes());
  consider(*most.mutable_write(), *least.mutable_write(), task.write_bytes());
  consider(*most.mutable_faults(), *least.mutable_faults(), task.major_faults());
}

}  // namespace

void add_step_usage(Usage& job, const Usage& step) {
  job.set_user_microseconds(job.user_microseconds() + step.user_microseconds());
  job.set_system_microseconds(job.system_microseconds() + step.system_microseconds());
  job.set_max_rss_kib(std::max(job.max_rss_kib(), step.max_rss_kib()));
  job.set_read_bytes(job.read_bytes() + step.read_bytes());
  job.set_write_bytes(job.write_bytes() + step.write_bytes());
  job.set_major_faults(job.major_faults() + step.major_faults());
}

void add_task_usage(Usage& step, const Usage& task, uint32_t rank, const std::string& node, bool several) {
  add_step_usage(step, task);
  if (!several) return;
  step.set_total_rss_kib(step.total_rss_kib() + task.max_rss_kib());
  widen(step, task, rank, node);
}

}  // namespace minke::engine
