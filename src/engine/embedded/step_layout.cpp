#include "engine/embedded/step_layout.h"

#include <algorithm>

#include "model/error.h"
#include "text/hostlist.h"

namespace minke::engine {

namespace {

struct Choice {
  std::vector<size_t> nodes;  // allowed ones, in order
  uint32_t tasks = 0;
  uint32_t node_count = 0;
};

Result<Choice> choose(const rpc::StepSpec& spec, const std::vector<StepNode>& nodes, StepLayout& layout) {
  Choice choice;
  if (!spec.node_list().empty()) {
    auto names = text::expand_hostlist(spec.node_list());
    if (!names) return failure(names.error().message, model::kInvalidNodeName);
    for (const std::string& name : *names) {
      const auto found =
          std::find_if(nodes.begin(), nodes.end(), [&](const auto& node) { return node.name == name; });
      if (found == nodes.end()) {
        return failure("node " + name + " is not part of the job", model::kNodeConfigUnavailable);
      }
      choice.nodes.push_back(static_cast<size_t>(found - nodes.begin()));
    }
  } else {
    for (size_t i = 0; i < nodes.size(); ++i) choice.nodes.push_back(i);
  }
  choice.node_count = spec.has_min_nodes() ? spec.min_nodes() : static_cast<uint32_t>(choice.nodes.size());
  if (choice.node_count == 0 || choice.node_count > choice.nodes.size()) {
    return failure("the job has " + std::to_string(choice.nodes.size()) + " nodes, the step asks for " +
                       std::to_string(choice.node_count),
                   model::kNodeConfigUnavailable);
  }
  if (spec.has_ntasks()) {
    choice.tasks = spec.ntasks();
  } else {
    choice.tasks = choice.node_count * (spec.has_ntasks_per_node() ? spec.ntasks_per_node() : 1);
  }
  if (choice.tasks == 0) return failure("a step has at least one task", model::kBadTaskCount);
  if (choice.tasks < choice.node_count) {
    layout.note = "Warning: can't run " + std::to_string(choice.tasks) + " processes on " +
                  std::to_string(choice.node_count) + " nodes, setting nnodes to " +
                  std::to_string(choice.tasks);
    choice.node_count = choice.tasks;
  }
  return choice;
}

}  // namespace

Result<StepLayout> lay_out_step(const rpc::StepSpec& spec, const std::vector<StepNode>& nodes,
                                uint32_t default_cpus_per_task) {
  StepLayout layout;
  auto choice = choose(spec, nodes, layout);
  if (!choice) return failure(choice.error());
  const uint32_t cpus_per_task =
      spec.has_cpus_per_task() ? spec.cpus_per_task() : std::max(1u, default_cpus_per_task);
  const bool exact = spec.exact() || spec.has_cpus_per_task();

  // Twice the same layout: on the whole job (can it ever run?), then on what other steps leave (can it now?).
  const auto try_with = [&](bool leave_used) -> bool {
    layout.task_nodes.clear();
    layout.cpus.assign(nodes.size(), 0);
    layout.tasks.assign(nodes.size(), 0);
    uint32_t left = choice->tasks, nodes_left = choice->node_count;
    for (const size_t i : choice->nodes) {
      if (nodes_left == 0) break;
      const StepNode& node = nodes[i];
      const uint32_t free = node.cpus - (leave_used ? std::min(node.cpus, node.cpus_used) : 0);
      // Without --exact the step wants the node's share of the job whole.
      if (!exact && leave_used && node.cpus_used > 0) continue;
      uint32_t fit = free / cpus_per_task;
      if (spec.has_ntasks_per_node()) fit = std::min(fit, spec.ntasks_per_node());
      // Each of the nodes to come gets one at least.
      const uint32_t most = left - (nodes_left - 1);
      uint32_t here = std::min(fit, most);
      // As the job itself was laid out, where the step is the whole job.
      if (choice->node_count == nodes.size() && node.tasks > 0 && !spec.has_ntasks_per_node()) {
        uint32_t job_tasks = 0;
        for (const StepNode& other : nodes) job_tasks += other.tasks;
        if (job_tasks == choice->tasks) here = std::min(here, node.tasks);
      }
      if (here == 0) continue;
      layout.tasks[i] = here;
      layout.cpus[i] = exact ? here * cpus_per_task : node.cpus;
      for (uint32_t task = 0; task < here; ++task) layout.task_nodes.push_back(i);
      left -= here;
      --nodes_left;
    }
    return left == 0 && nodes_left == 0;
  };
  if (!try_with(false)) {
    if (spec.overlap() || nodes.empty()) {
      // Overlapping steps may have more tasks than CPUs: spread them evenly.
      layout.task_nodes.clear();
      layout.cpus.assign(nodes.size(), 0);
      layout.tasks.assign(nodes.size(), 0);
      for (uint32_t task = 0; task < choice->tasks; ++task) {
        ++layout.tasks[choice->nodes[task * choice->node_count / choice->tasks]];
      }
      for (size_t i = 0; i < nodes.size(); ++i)
        layout.task_nodes.insert(layout.task_nodes.end(), layout.tasks[i], i);
      return layout;
    }
    return failure("the job's CPUs do not suffice for " + std::to_string(choice->tasks) + " tasks of " +
                       std::to_string(cpus_per_task) + " CPUs",
                   model::kNodeConfigUnavailable);
  }
  if (spec.overlap()) {
    layout.cpus.assign(nodes.size(), 0);
    return layout;
  }
  if (!try_with(true)) return failure("other steps of the job hold what it needs", model::kNodesBusy);
  return layout;
}

}  // namespace minke::engine
