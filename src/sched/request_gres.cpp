#include "sched/request_gres.h"

#include <algorithm>
#include <string>
#include <utility>

#include "model/error.h"
#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"
#include "sched/explain.h"

namespace minke::sched {
namespace {

using Scope = std::uint32_t GresDemand::*;
constexpr std::uint32_t kMaxCount = 1u << 20;
constexpr std::uint32_t kMaxUnits = MachineLayout::kMaxUnits;

tl::unexpected<Error> invalid(const std::string& message) {
  return failure(message, model::kInvalidGres);
}

class Resolver {
 public:
  Resolver(const model::JobSpec& spec, const MachineLayout& layout) : spec_(spec), layout_(layout) {}

  Result<GresTerms> resolve() {
    for (const auto& gres : spec_.gpus_per_socket()) {
      // As Slurm wants it: on so many sockets of each node.
      if (!spec_.has_sockets_per_node()) return invalid("--gpus-per-socket needs --sockets-per-node");
      model::Gres on_node = gres;
      on_node.set_count(std::min(gres.count(), kMaxCount) * std::min(spec_.sockets_per_node(), 1024u));
      if (auto added = add(on_node, &GresDemand::per_node); !added) return failure(added.error());
    }
    for (const auto& [list, scope] : {std::pair{&spec_.gres_per_node(), &GresDemand::per_node},
                                      std::pair{&spec_.gpus_per_task(), &GresDemand::per_task},
                                      std::pair{&spec_.gpus(), &GresDemand::per_job}}) {
      for (const auto& gres : *list) {
        if (auto added = add(gres, scope); !added) return failure(added.error());
      }
    }
    if (auto settled = settle_node_and_task(); !settled) return failure(settled.error());
    if (auto settled = settle_job_wide(); !settled) return failure(settled.error());
    if (auto settled = settle_tasks_per_gpu(); !settled) return failure(settled.error());
    auto& demands = terms_.demands;
    const auto asks_for = [&](bool (MachineLayout::*is)(GresNameId) const) {
      return std::any_of(demands.begin(), demands.end(),
                         [&](const GresDemand& demand) { return (layout_.*is)(demand.name); });
    };
    if (asks_for(&MachineLayout::is_gpu) && asks_for(&MachineLayout::is_shard))
      return invalid("a job has whole GPUs or shards, not both");
    std::erase_if(demands, [](const GresDemand& d) { return d.per_node + d.per_task + d.per_job == 0; });
    // kAnyKind is the largest kind, and so follows the typed ones.
    std::sort(demands.begin(), demands.end(), [](const GresDemand& a, const GresDemand& b) {
      return a.name != b.name ? a.name < b.name : a.kind < b.kind;
    });
    return std::move(terms_);
  }

 private:
  Status add(const model::Gres& gres, Scope scope) {
    if (gres.count() == 0) return {};
    if (gres.count() > kMaxUnits)
      return invalid("GRES count " + std::to_string(gres.count()) + " is out of range");
    const std::string word = gres.name().empty() ? "gpu" : gres.name();
    const auto name = layout_.find_gres_name(word);
    if (!name) return invalid(word + ": no node has this GRES");
    GresKindId kind = kAnyKind;
    if (!gres.type().empty()) {
      const auto found = layout_.find_gres_kind(*name, gres.type());
      if (!found)
        return failure(word + ":" + gres.type() + ": no node has this type; there is " + types_of(*name),
                       model::kNodeConfigUnavailable);
      kind = *found;
    }
    std::uint32_t& count = demand(*name, kind).*scope;
    if (count + gres.count() > kMaxUnits) return invalid(word + ": the count is out of range");
    count += gres.count();
    return {};
  }

  GresDemand& demand(GresNameId name, GresKindId kind) {
    for (GresDemand& known : terms_.demands) {
      if (known.name == name && known.kind == kind) return known;
    }
    GresDemand& made = terms_.demands.emplace_back();
    made.name = name;
    made.kind = kind;
    return made;
  }

  std::string types_of(GresNameId name) const {
    std::string text;
    for (const GresKind& kind : layout_.gres_kinds()) {
      if (kind.name != name) continue;
      if (!text.empty()) text += ", ";
      text += layout_.gres_name(name) + (kind.type.empty() ? "" : ":" + kind.type);
    }
    return text;
  }

  // A count for each node beside one for each task gives the number of tasks on a node.
  Status settle_node_and_task() {
    if (!layout_.gpu_name()) return {};
    std::uint64_t on_node = 0;
    std::uint64_t on_task = 0;
    GresDemand node_wide;
    for (const GresDemand& known : terms_.demands) {
      if (known.name != *layout_.gpu_name()) continue;
      on_node += known.per_node;
      on_task += known.per_task;
      if (known.per_node > 0) node_wide = known;
    }
    if (on_node == 0 || on_task == 0) return {};
    if (on_node % on_task != 0) {
      return invalid("--gpus-per-task=" + std::to_string(on_task) + " does not divide the " +
                     std::to_string(on_node) + " GPUs on each node");
    }
    const auto tasks = static_cast<std::uint32_t>(on_node / on_task);
    if (spec_.has_ntasks_per_node() && spec_.ntasks_per_node() > tasks) {
      return invalid("--ntasks-per-node=" + std::to_string(spec_.ntasks_per_node()) +
                     " with --gpus-per-task=" + std::to_string(on_task) + " needs more than the " +
                     std::to_string(on_node) + " GPUs on each node");
    }
    terms_.tasks_per_node = tasks;
    drop(node_wide, &GresDemand::per_node, &GresDemand::per_task);
    for (GresDemand& known : terms_.demands) {
      if (known.name == *layout_.gpu_name()) known.per_node = 0;
    }
    return {};
  }

  // --gpus beside a count for each node or task is only another way to give the number of those.
  Status settle_job_wide() {
    std::uint64_t total = 0;
    std::uint32_t kinds = 0;
    GresDemand job_wide;
    for (const GresDemand& known : terms_.demands) {
      if (known.per_job == 0) continue;
      ++kinds;
      total += known.per_job;
      job_wide = known;
    }
    if (total == 0) return {};
    if (kinds > 1) {
      // Several types in one number for the job: on one node that has them all.
      for (GresDemand& known : terms_.demands) known.per_node += std::exchange(known.per_job, 0u);
      terms_.nodes = 1;
      return {};
    }
    std::uint64_t on_each = 0;
    for (const auto& [scope, what] : {std::pair{&GresDemand::per_task, "--gpus-per-task"},
                                      std::pair{&GresDemand::per_node, "GPUs on each node"}}) {
      on_each = 0;
      for (const GresDemand& known : terms_.demands) {
        if (known.name == job_wide.name) on_each += known.*scope;
      }
      if (on_each == 0) continue;
      if (total % on_each != 0) {
        return invalid("--gpus=" + std::to_string(total) + " is no multiple of " + std::to_string(on_each) +
                       " (" + what + ")");
      }
      const auto number = static_cast<std::uint32_t>(total / on_each);
      if (scope == &GresDemand::per_task) {
        if (spec_.has_ntasks() && spec_.ntasks() != number) {
          return invalid("--gpus=" + std::to_string(total) + " contradicts " +
                         std::to_string(spec_.ntasks()) +
                         " tasks with --gpus-per-task=" + std::to_string(on_each));
        }
        terms_.tasks = number;
      } else {
        terms_.nodes = number;
      }
      drop(job_wide, &GresDemand::per_job, scope);
    }
    return {};
  }

  // Takes `dropped` out of the demand, which `kept` implies. A type that it names goes over to what `kept`
  // leaves open.
  void drop(const GresDemand& gone, Scope dropped, Scope kept) {
    demand(gone.name, gone.kind).*dropped = 0;
    if (gone.kind == kAnyKind) return;
    const std::uint32_t untyped = std::exchange(demand(gone.name, kAnyKind).*kept, 0u);
    demand(gone.name, gone.kind).*kept += untyped;
  }

  Status settle_tasks_per_gpu() {
    if (!spec_.has_ntasks_per_gpu() || spec_.ntasks_per_gpu() == 0) return {};
    const std::uint64_t per_gpu = spec_.ntasks_per_gpu();
    if (!layout_.gpu_name()) return invalid("--ntasks-per-gpu: no node has GPUs");
    std::uint64_t on_each = 0;
    std::uint64_t in_all = 0;
    bool any = false;
    for (const GresDemand& known : terms_.demands) {
      if (known.name != *layout_.gpu_name()) continue;
      on_each += known.per_node;
      in_all += known.per_job;
      any = any || known.per_node + known.per_task + known.per_job > 0;
    }
    if (spec_.has_ntasks()) {
      // A node's GPUs serve so many tasks and no more.
      if (on_each > 0)
        terms_.tasks_per_node =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(on_each * per_gpu, kMaxCount));
      if (any) return {};
      demand(*layout_.gpu_name(), kAnyKind).per_job =
          static_cast<std::uint32_t>((spec_.ntasks() + per_gpu - 1) / per_gpu);
      return {};
    }
    if (!any) return invalid("--ntasks-per-gpu needs --ntasks or a number of GPUs");
    const std::uint64_t tasks = per_gpu * std::max(in_all, on_each);
    if (tasks > kMaxCount) return invalid("--ntasks-per-gpu is out of range");
    if (in_all > 0) {
      terms_.tasks = static_cast<std::uint32_t>(tasks);
    } else if (on_each > 0) {
      terms_.tasks_per_node = static_cast<std::uint32_t>(tasks);
    }
    return {};
  }

  const model::JobSpec& spec_;
  const MachineLayout& layout_;
  GresTerms terms_;
};

}  // namespace

Result<GresTerms> resolve_gres(const model::JobSpec& spec, const MachineLayout& layout) {
  return Resolver(spec, layout).resolve();
}

}  // namespace minke::sched
