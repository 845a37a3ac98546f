#include "engine/embedded/steps/step_layout.h"

#include <algorithm>
#include <optional>

#include "api/steps.pb.h"
#include "model/error.h"
#include "model/job_terms.pb.h"
#include "text/gres_count.h"
#include "text/hostlist.h"
#include "text/number.h"

namespace minke::engine {

namespace {

// Slurm's MaxTasksPerNode. A larger node may have one task per CPU.
constexpr uint32_t kMostTasksPerNode = 512;
// For one step. Nodes may be parts of one machine, which has to start all tasks.
constexpr uint64_t kMostTasks = 8192;

enum class Distribution { kBlock, kCyclic, kPlane, kArbitrary };

struct Choice {
  std::vector<size_t> nodes;  // allowed nodes in order; with kArbitrary one per task
  uint32_t tasks = 0;
  uint32_t node_count = 0;
  uint32_t cpus_per_task = 1;
  uint64_t cpus_in_all = 0;  // of the allowed nodes
  Distribution distribution = Distribution::kBlock;
  uint32_t plane_size = 1;
  bool pack = false;  // fill node after node if tasks may outnumber CPUs
};

uint32_t most_tasks_of(const StepNode& node) {
  return std::max(kMostTasksPerNode, node.cpus);
}

size_t find_node(const std::vector<StepNode>& nodes, const std::string& name) {
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const auto& node) { return node.name == name; });
  return static_cast<size_t>(found - nodes.begin());
}

// The nodes that the step may use: those of --nodelist first, none of --exclude, from --relative on.
Result<std::vector<size_t>> allowed_nodes(const api::StepSpec& spec, const std::vector<StepNode>& nodes,
                                          bool arbitrary) {
  std::vector<size_t> named;
  std::vector<bool> excluded(nodes.size(), false);
  if (!spec.node_list().empty()) {
    const auto names = text::expand_hostlist(spec.node_list());
    if (!names) return failure(names.error().message, model::kInvalidNodeName);
    for (const std::string& name : *names) {
      named.push_back(find_node(nodes, name));
      if (named.back() == nodes.size()) return failure("", model::kNodeConfigUnavailable);
    }
    if (arbitrary) return named;  // one per task
    std::sort(named.begin(), named.end());
    named.erase(std::unique(named.begin(), named.end()), named.end());
  }
  if (!spec.exclude().empty()) {
    const auto names = text::expand_hostlist(spec.exclude());
    if (!names) return failure(names.error().message, model::kInvalidNodeName);
    for (const std::string& name : *names) {
      if (const size_t index = find_node(nodes, name); index < nodes.size()) excluded[index] = true;
    }
  }
  std::vector<size_t> allowed;
  for (const size_t index : named) {
    if (!excluded[index]) allowed.push_back(index);
  }
  // If more nodes are requested than named, others are added.
  const bool others = named.empty() || (spec.has_min_nodes() && spec.min_nodes() > named.size());
  for (size_t i = 0; others && i < nodes.size(); ++i) {
    const size_t index = (i + spec.relative_node()) % nodes.size();
    if (!excluded[index] && std::find(named.begin(), named.end(), index) == named.end())
      allowed.push_back(index);
  }
  return allowed;
}

void read_distribution(const api::StepSpec& spec, Choice& choice) {
  const std::string distribution = text::lower_case(spec.distribution());
  choice.pack = distribution == "pack" || distribution.ends_with(",pack");
  // Without a list of nodes, arbitrary has nothing to follow.
  if (distribution.starts_with("arbitrary") && !spec.node_list().empty())
    choice.distribution = Distribution::kArbitrary;
  if (distribution.starts_with("cyclic")) choice.distribution = Distribution::kCyclic;
  if (!distribution.starts_with("plane=")) return;
  choice.distribution = Distribution::kPlane;
  const std::string size = distribution.substr(6, distribution.find_first_of(":,") - 6);
  choice.plane_size = std::max(1u, static_cast<uint32_t>(text::parse_unsigned(size, UINT32_MAX).value_or(1)));
}

// --distribution=arbitrary: one task for each node in the list.
Status count_arbitrary_tasks(const api::StepSpec& spec, Choice& choice) {
  if (spec.has_ntasks() && spec.ntasks() < choice.nodes.size()) choice.nodes.resize(spec.ntasks());
  choice.tasks = static_cast<uint32_t>(choice.nodes.size());
  if (choice.nodes.size() > std::max(kMostTasks, choice.cpus_in_all))
    return failure("a step has " + std::to_string(kMostTasks) + " tasks at most", model::kBadTaskCount);
  if (choice.tasks == 0 || (spec.has_ntasks() && spec.ntasks() > choice.tasks))
    return failure("", model::kBadTaskCount);
  return {};
}

Status count_tasks(const api::StepSpec& spec, Choice& choice, StepLayout& layout) {
  choice.node_count = spec.has_min_nodes() ? spec.min_nodes() : static_cast<uint32_t>(choice.nodes.size());
  if (spec.has_max_nodes()) choice.node_count = std::min(choice.node_count, std::max(1u, spec.max_nodes()));
  const uint64_t tasks = spec.has_ntasks() ? spec.ntasks()
                                           : uint64_t{choice.node_count} *
                                                 (spec.has_ntasks_per_node() ? spec.ntasks_per_node() : 1);
  if (tasks == 0) return failure("a step has at least one task", model::kBadTaskCount);
  if (tasks > std::max(kMostTasks, choice.cpus_in_all))
    return failure("a step has " + std::to_string(std::max(kMostTasks, choice.cpus_in_all)) +
                       " tasks at most; --ntasks asks for " + std::to_string(tasks),
                   model::kBadTaskCount);
  choice.tasks = static_cast<uint32_t>(tasks);
  if (choice.tasks < choice.node_count) {
    if (spec.has_min_nodes()) {
      layout.note = "Warning: can't run " + std::to_string(choice.tasks) + " processes on " +
                    std::to_string(choice.node_count) + " nodes, setting nnodes to " +
                    std::to_string(choice.tasks);
    }
    choice.node_count = choice.tasks;
  }
  if (choice.node_count == 0 || choice.node_count > choice.nodes.size())
    return failure("", model::kNodeConfigUnavailable);
  return {};
}

Result<Choice> choose(const api::StepSpec& spec, const std::vector<StepNode>& nodes, StepLayout& layout) {
  Choice choice;
  read_distribution(spec, choice);
  const bool arbitrary = choice.distribution == Distribution::kArbitrary;
  auto allowed = allowed_nodes(spec, nodes, arbitrary);
  if (!allowed) return failure(allowed.error());
  choice.nodes = std::move(*allowed);
  for (const size_t index : choice.nodes) choice.cpus_in_all += nodes[index].cpus;
  choice.cpus_per_task = spec.has_cpus_per_task() ? std::max(1u, spec.cpus_per_task()) : 1;
  const Status counted = arbitrary ? count_arbitrary_tasks(spec, choice) : count_tasks(spec, choice, layout);
  if (!counted) return failure(counted.error());
  return choice;
}

// GPUs that a step asks for; all zero: no request.
struct GpuDemand {
  uint64_t per_node = 0, per_task = 0, in_all = 0;
  uint32_t tasks_per_gpu = 0;

  explicit GpuDemand(const api::StepSpec& spec)
      : per_node(std::max(text::gpus_in(spec.gres_per_node()), text::gpus_in(spec.gpus_per_socket()))),
        per_task(text::gpus_in(spec.gpus_per_task())),
        in_all(text::gpus_in(spec.gpus())),
        tasks_per_gpu(spec.ntasks_per_gpu()) {}
  bool asked() const { return per_node != 0 || per_task != 0 || in_all != 0 || tasks_per_gpu != 0; }
  // The number of its tasks that `gpus` GPUs of a node can serve.
  uint32_t most_tasks(uint64_t gpus) const {
    if (per_node > gpus) return 0;
    uint64_t most = UINT32_MAX;
    if (per_task != 0) most = std::min(most, gpus / per_task);
    if (tasks_per_gpu != 0) most = std::min(most, gpus * tasks_per_gpu);
    return static_cast<uint32_t>(most);
  }
  uint64_t needed(uint32_t tasks) const {
    if (tasks == 0) return 0;
    uint64_t count = std::max(per_node, per_task * tasks);
    if (tasks_per_gpu != 0) count = std::max<uint64_t>(count, (tasks + tasks_per_gpu - 1) / tasks_per_gpu);
    return count;
  }
};

std::vector<uint32_t> free_gpus(const StepNode& node, bool leave_used) {
  std::vector<uint32_t> free;
  for (const uint32_t gpu : node.gpus) {
    const bool used = std::find(node.gpus_used.begin(), node.gpus_used.end(), gpu) != node.gpus_used.end();
    if (!leave_used || !used) free.push_back(gpu);
  }
  return free;
}

// One attempt at a layout: on the whole job (can it ever run?), or on what other steps leave (can it
// run now?). If the job's CPUs are spread unevenly over its nodes, a step may fit in total but be too
// wide for one node. A loose attempt then gives each node one task anyway, and as many as its CPUs
// allow, ignoring --ntasks-per-node.
class Attempt {
 public:
  Attempt(const api::StepSpec& spec, const std::vector<StepNode>& nodes, const Choice& choice,
          bool leave_used, bool loose, StepLayout& layout)
      : spec_(spec),
        nodes_(nodes),
        choice_(choice),
        leave_used_(leave_used && !spec.overlap()),
        loose_(loose),
        layout_(layout),
        gpus_(spec) {
    exact_ = spec.exact() || spec.exclusive() || spec.has_cpus_per_task();
    unbounded_ = spec.overcommit() || spec.overlap();
  }

  // Nothing: the step fits. Otherwise the error for a job that is too small.
  std::optional<int> run() {
    layout_.task_nodes.clear();
    layout_.tasks.assign(nodes_.size(), 0);
    layout_.cpus.assign(nodes_.size(), 0);
    layout_.memory_mib.assign(nodes_.size(), 0);
    layout_.gpus.assign(nodes_.size(), {});
    layout_.gres.assign(nodes_.size(), {});
    if (choice_.distribution == Distribution::kArbitrary) {
      for (const size_t index : choice_.nodes) ++layout_.tasks[index];
      layout_.task_nodes = choice_.nodes;
      for (size_t i = 0; i < nodes_.size(); ++i) {
        if (layout_.tasks[i] > room(nodes_[i])) return model::kTooManyCpus;
      }
    } else if (!share_out()) {
      return serves_gpus() ? model::kTooManyCpus : model::kInvalidGres;
    }
    if (!take_memory()) return model::kInvalidTaskMemory;
    if (!take_gpus()) return model::kInsufficientGres;
    if (!take_gres()) return model::kInvalidGres;
    return std::nullopt;
  }

 private:
  // Whether any node of the job has the GPUs of one task.
  bool serves_gpus() const {
    const auto serves = [&](const StepNode& node) {
      return leave_used_ || gpus_.most_tasks(node.gpus.size()) > 0;
    };
    return !gpus_.asked() || std::any_of(nodes_.begin(), nodes_.end(), serves);
  }

  // The number of tasks that the node can take.
  uint32_t room(const StepNode& node) const {
    const uint32_t by_gpus = gpus_.asked() && !spec_.overlap()
                                 ? gpus_.most_tasks(free_gpus(node, leave_used_).size())
                                 : UINT32_MAX;
    if (unbounded_) return std::min(by_gpus, most_tasks_of(node));
    const uint32_t free = node.cpus - (leave_used_ ? std::min(node.cpus, node.cpus_used) : 0);
    // Without --exact the step needs the job's whole share of the node.
    if (!exact_ && leave_used_ && node.cpus_used > 0) return 0;
    const uint32_t least = loose_ && free > 0 ? 1 : 0;
    return std::min(by_gpus, std::max(least, free / choice_.cpus_per_task));
  }

  bool share_out() {
    // Like srun, ignores an --ntasks-per-node that does not match the numbers.
    const bool per_node = !loose_ && spec_.has_ntasks_per_node() &&
                          uint64_t{spec_.ntasks_per_node()} * choice_.node_count >= choice_.tasks;
    std::vector<std::pair<size_t, uint32_t>> chosen;  // node, room
    for (const size_t i : choice_.nodes) {
      uint32_t fit = room(nodes_[i]);
      if (per_node) fit = std::min(fit, spec_.ntasks_per_node());
      if (fit > 0 && chosen.size() < choice_.node_count) chosen.emplace_back(i, fit);
    }
    if (chosen.size() < choice_.node_count) return false;
    std::sort(chosen.begin(), chosen.end());
    if (spec_.relative_node() != 0) {
      const auto first = std::find_if(chosen.begin(), chosen.end(),
                                      [&](const auto& one) { return one.first >= spec_.relative_node(); });
      std::rotate(chosen.begin(), first, chosen.end());
    }
    switch (choice_.distribution) {
      case Distribution::kCyclic:
        return deal(chosen, 1);
      case Distribution::kPlane:
        return deal(chosen, choice_.plane_size);
      default:
        return in_blocks(chosen);
    }
  }

  // The tasks that the node takes before tasks share CPUs, if they may.
  uint32_t without_sharing(size_t node, uint32_t room) const {
    return std::min(room, std::max(loose_ ? 1u : 0u, nodes_[node].cpus / choice_.cpus_per_task));
  }

  // In rounds, `size` tasks on each node with room. If tasks may share CPUs,
  // they do so once no CPU is free.
  bool deal(const std::vector<std::pair<size_t, uint32_t>>& chosen, uint32_t size) {
    uint32_t left = choice_.tasks;
    for (const bool sharing : {false, true}) {
      for (bool progress = true; left > 0 && progress;) {
        progress = false;
        for (const auto& [node, room] : chosen) {
          const uint32_t most = sharing ? room : without_sharing(node, room);
          for (uint32_t i = 0; i < size && left > 0 && layout_.tasks[node] < most; ++i, --left) {
            layout_.task_nodes.push_back(node);
            ++layout_.tasks[node];
            progress = true;
          }
        }
      }
    }
    return left == 0;
  }

  // Fills nodes in the order of ranks, with as many tasks on each as if they had been dealt out one by one.
  bool in_blocks(const std::vector<std::pair<size_t, uint32_t>>& chosen) {
    uint32_t job_tasks = 0;
    for (const StepNode& node : nodes_) job_tasks += node.tasks;
    // If the step is the whole job, it is laid out like the job.
    const bool as_the_job =
        job_tasks == choice_.tasks && chosen.size() == nodes_.size() && !spec_.overcommit();
    if (choice_.pack) return fill(chosen);
    if (as_the_job) {
      for (const auto& [node, room] : chosen) layout_.tasks[node] = std::min(room, nodes_[node].tasks);
    } else {
      if (!deal(chosen, 1)) return false;
      layout_.task_nodes.clear();
    }
    for (const auto& [node, room] : chosen)
      layout_.task_nodes.insert(layout_.task_nodes.end(), layout_.tasks[node], node);
    return layout_.task_nodes.size() == choice_.tasks;
  }

  // --distribution=pack: fills each node, but leaves at least one task for each later node.
  bool fill(const std::vector<std::pair<size_t, uint32_t>>& chosen) {
    uint32_t left = choice_.tasks;
    for (size_t i = 0; i < chosen.size(); ++i) {
      const auto& [node, room] = chosen[i];
      const auto nodes_after = static_cast<uint32_t>(chosen.size() - i - 1);
      const uint32_t most = nodes_after > 0 ? without_sharing(node, room) : room;
      const uint32_t here = std::min(most, left - nodes_after);
      layout_.tasks[node] = here;
      layout_.task_nodes.insert(layout_.task_nodes.end(), here, node);
      left -= here;
    }
    return left == 0;
  }

  bool take_memory() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const StepNode& node = nodes_[i];
      if (layout_.tasks[i] == 0) continue;
      if (!spec_.overlap()) {
        layout_.cpus[i] = exact_ ? std::min(node.cpus, layout_.tasks[i] * choice_.cpus_per_task) : node.cpus;
      }
      uint64_t wanted = spec_.mem_per_node_mib();
      if (!spec_.has_mem_per_node_mib())
        wanted = spec_.mem_per_cpu_mib() *
                 std::max<uint64_t>(layout_.cpus[i], uint64_t{layout_.tasks[i]} * choice_.cpus_per_task);
      if (wanted == 0 || node.memory_mib == 0) continue;  // --mem=0: all of the job's memory, shared
      if (wanted > node.memory_mib) {
        // Memory per CPU was rounded when the job was placed.
        if (spec_.has_mem_per_node_mib()) return false;
        wanted = node.memory_mib;
      }
      if (!spec_.overlap() && leave_used_ && wanted + node.memory_used_mib > node.memory_mib) return false;
      layout_.memory_mib[i] = wanted;
    }
    return true;
  }

  bool take_gpus() {
    layout_.holds_gpus = gpus_.asked() && !spec_.overlap();
    if (spec_.no_gres()) return true;
    uint64_t taken = 0;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (layout_.tasks[i] == 0) continue;
      layout_.gpus[i] = free_gpus(nodes_[i], leave_used_ && gpus_.asked());
      if (!gpus_.asked()) {
        if (nodes_[i].gpus_by_default < layout_.gpus[i].size())
          layout_.gpus[i].resize(nodes_[i].gpus_by_default);
        continue;
      }
      if (gpus_.in_all == 0 || gpus_.needed(layout_.tasks[i]) != 0) {
        const uint64_t needed = gpus_.needed(layout_.tasks[i]);
        if (needed > layout_.gpus[i].size()) return false;
        if (gpus_.in_all == 0) layout_.gpus[i].resize(needed);
      }
      taken += layout_.gpus[i].size();
    }
    if (gpus_.in_all == 0) return true;
    if (taken < gpus_.in_all) return false;
    // Returns surplus GPUs from the last node on, but keeps one per node while possible.
    for (const size_t keep : {size_t{1}, size_t{0}}) {
      for (size_t i = nodes_.size(); i-- > 0 && taken > gpus_.in_all;) {
        const size_t least = std::max<size_t>(keep, gpus_.needed(layout_.tasks[i]));
        while (layout_.gpus[i].size() > least && taken > gpus_.in_all) {
          layout_.gpus[i].pop_back();
          --taken;
        }
      }
    }
    return true;
  }

  // GRES other than GPUs. A type that the step leaves open may be any of the job's.
  bool take_gres() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (layout_.tasks[i] == 0) continue;
      std::vector<StepGres> left = nodes_[i].gres;
      for (StepGres& one : left) {
        if (leave_used_) one.count -= std::min(one.count, one.used);
        one.used = 0;
      }
      for (const auto& [list, times] :
           {std::pair{&spec_.gres_per_node(), 1U}, std::pair{&spec_.gpus_per_task(), layout_.tasks[i]}}) {
        for (const model::Gres& asked : *list)
          if (!text::is_gpu(asked) && !take(asked, uint64_t{asked.count()} * times, left)) return false;
      }
      for (StepGres& one : left) {
        if (one.used == 0) continue;
        layout_.gres[i].push_back({one.name, one.type, one.used, 0});
      }
    }
    return true;
  }

  // Counts what it takes of `left` in `used`.
  static bool take(const model::Gres& asked, uint64_t wanted, std::vector<StepGres>& left) {
    for (StepGres& one : left) {
      if (one.name != asked.name() || (!asked.type().empty() && one.type != asked.type())) continue;
      const auto taken = static_cast<uint32_t>(std::min<uint64_t>(wanted, one.count - one.used));
      one.used += taken;
      wanted -= taken;
    }
    return wanted == 0;
  }

  const api::StepSpec& spec_;
  const std::vector<StepNode>& nodes_;
  const Choice& choice_;
  bool leave_used_, loose_;
  StepLayout& layout_;
  GpuDemand gpus_;
  bool exact_ = false, unbounded_ = false;
};

}  // namespace

Result<StepLayout> lay_out_step(const api::StepSpec& spec, const std::vector<StepNode>& nodes) {
  StepLayout layout;
  const auto choice = choose(spec, nodes, layout);
  if (!choice) return failure(choice.error());
  bool loose = false;
  auto problem = Attempt(spec, nodes, *choice, false, loose, layout).run();
  if (problem == model::kTooManyCpus &&
      choice->cpus_in_all >= uint64_t{choice->tasks} * choice->cpus_per_task) {
    loose = true;
    problem = Attempt(spec, nodes, *choice, false, loose, layout).run();
  }
  if (problem) return failure("", *problem);
  if (Attempt(spec, nodes, *choice, true, loose, layout).run()) return failure("", model::kNodesBusy);
  return layout;
}

}  // namespace minke::engine
