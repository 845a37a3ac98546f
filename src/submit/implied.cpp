#include "submit/implied.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"
#include "text/gres_count.h"
#include "text/hostlist.h"
#include "text/number.h"

namespace minke::submit {
namespace {

constexpr uint64_t kMaxTasks = 2147483647;

tl::unexpected<Error> refused(std::string message) {
  return failure(std::move(message), 1);
}
tl::unexpected<Error> invalid_gres(std::string message) {
  return refused(std::move(message) + "\nInvalid generic resource (gres) specification");
}

Status set_tasks(model::JobSpec& spec, uint64_t tasks) {
  if (tasks == 0 || tasks > kMaxTasks) return refused("too many tasks: " + std::to_string(tasks));
  spec.set_ntasks(static_cast<uint32_t>(tasks));
  return {};
}

Status from_node_list(model::JobSpec& spec, int release) {
  if (!spec.exclude().empty()) {
    if (auto hosts = text::expand_hostlist(spec.exclude()))
      spec.set_exclude(text::compress_hostlist_sorted(std::move(*hosts)));
  }
  if (spec.node_list().empty()) return {};
  auto hosts = text::expand_hostlist(spec.node_list());
  if (!hosts) return {};  // reported where the list was read
  const auto count = static_cast<uint32_t>(std::set<std::string>(hosts->begin(), hosts->end()).size());
  const bool for_tasks = spec.has_ntasks() && spec.ntasks() < count;  // more are named than tasks need
  if (spec.has_max_nodes() && spec.max_nodes() < count && release < kSlurm24 && !for_tasks) {
    return refused("invalid number of nodes (-N " + std::to_string(count) + "-" +
                   std::to_string(spec.max_nodes()) + ")");
  }
  // Keeps the form that listings show; for the distribution by that list, order and repetition count.
  if (text::starts_with_ignoring_case(spec.distribution(), "arbitrary")) {
    if (release >= kSlurm24) spec.set_node_list(text::compress_hostlist(*hosts));
    // A task each time that a node is named.
    if (!spec.has_ntasks() && release >= kSlurm24) spec.set_ntasks(static_cast<uint32_t>(hosts->size()));
  } else {
    spec.set_node_list(text::compress_hostlist_sorted(*hosts));
  }
  // A single task needs no second node; Slurm warns and takes one.
  if (for_tasks) return {};
  // More names than nodes: some of them do.
  if (spec.has_max_nodes() && spec.max_nodes() < count) return {};
  if (count > 1) spec.set_min_nodes(std::max(spec.min_nodes(), count));
  return {};
}

// GPUs, or other resources of several types, are asked for by type or without, not both.
Status check_gres_types(model::JobSpec& spec) {
  std::set<std::string> typed, untyped;
  for (const auto* list :
       {&spec.gres_per_node(), &spec.gpus(), &spec.gpus_per_socket(), &spec.gpus_per_task()}) {
    for (const model::Gres& gres : *list) (gres.type().empty() ? untyped : typed).insert(gres.name());
  }
  const bool both =
      std::any_of(typed.begin(), typed.end(), [&](const auto& name) { return untyped.contains(name); });
  return both ? refused("Invalid GRES specification (with and without type identification)") : Status();
}

// Returns the number of tasks without regard to GPUs; 0 if it is not determined.
uint64_t tasks_before_gpus(const model::JobSpec& spec, int release) {
  if (spec.has_ntasks()) return spec.ntasks();
  const bool nodes_known = spec.has_max_nodes() && spec.min_nodes() == spec.max_nodes();
  if (!nodes_known && (!spec.has_ntasks_per_node() || release >= kSlurm24)) return 0;
  // A number of nodes is one of tasks only where nothing is said of the tasks themselves.
  if (release >= kSlurm26 && !spec.has_ntasks_per_node() && spec.has_cpus_per_task()) return 0;
  return uint64_t{nodes_known ? spec.min_nodes() : 1} * std::max(spec.ntasks_per_node(), 1U);
}

// GPUs for each node and for each task together determine the tasks on each node.
Status tasks_on_each_node(model::JobSpec& spec, uint64_t gpus_of_node, uint64_t gpus_of_task) {
  if (gpus_of_node == 0) return {};
  if (gpus_of_node % gpus_of_task != 0) {
    return invalid_gres(
        "Failed to validate job spec, --gres=gpu/--gpus-per-node not multiple of --gpus-per-task.");
  }
  const uint64_t tasks = gpus_of_node / gpus_of_task;
  if (spec.has_ntasks_per_node() && spec.ntasks_per_node() != tasks) {
    return invalid_gres(
        "Failed to validate job spec. Based on --gres=gpu/--gpus-per-node and --gpus-per-task requested "
        "number of tasks per node differ from --ntasks-per-node.");
  }
  spec.set_ntasks_per_node(static_cast<uint32_t>(std::min(tasks, kMaxTasks)));
  return {};
}

// The number of GPUs asked for; 0: not given.
struct Gpus {
  uint64_t total, each_node, each_task, each_socket;
};

Status check_gpu_options(const model::JobSpec& spec, const Gpus& gpus, Geometry geometry) {
  const bool old = geometry.release < kSlurm24;
  if (spec.has_cpus_per_gpu() && spec.has_cpus_per_task()) {
    return old ? invalid_gres("--cpus-per-gpu is mutually exclusive with --cpus-per-task")
               : refused(
                     "fatal: --cpus-per-task, --tres-per-task=cpu:#, and --cpus-per-gpu are mutually "
                     "exclusive");
  }
  const bool no_gpus =
      gpus.total + gpus.each_node + gpus.each_task + gpus.each_socket == 0 && !spec.has_ntasks_per_gpu();
  const std::string gpu = old ? "=gres:gpu:" : "=gres/gpu:";
  if (spec.mem_per_gpu_mib() > 0 && no_gpus) {
    return invalid_gres("Requested mem_per_tres" + gpu + std::to_string(spec.mem_per_gpu_mib()) +
                        " but did not request any GPU.");
  }
  if (spec.has_cpus_per_gpu() && no_gpus && !old) {
    return invalid_gres("Requested cpus_per_tres" + gpu + std::to_string(spec.cpus_per_gpu()) +
                        " but did not request any GPU.");
  }
  if (gpus.total != 0 && std::max({gpus.each_node, gpus.each_task, gpus.each_socket}) > gpus.total)
    return invalid_gres("Failed to ensure --gpus >= --gres=gpu/--gpus-per-node >= --gpus-per-socket");
  if (gpus.each_node == 0 || gpus.each_socket == 0) return {};
  if (gpus.each_node % gpus.each_socket != 0) {
    return invalid_gres(
        "Failed to validate job spec, --gres=gpu/--gpus-per-node not multiple of --gpus-per-socket.");
  }
  if (spec.has_sockets_per_node() && spec.sockets_per_node() != gpus.each_node / gpus.each_socket) {
    return invalid_gres(
        "Failed to validate job spec. Based on --gres=gpu/--gpus-per-node and --gpus-per-socket required "
        "number of sockets differ from --sockets-per-node.");
  }
  return {};
}

// All GPUs and GPUs for each node together determine the number of nodes.
Status nodes_from_gpus(model::JobSpec& spec, const Gpus& gpus, int release) {
  constexpr uint64_t kNoMost = 4294967294;
  if (gpus.total != 0 && gpus.each_node != 0) {
    if (gpus.total % gpus.each_node != 0) {
      return invalid_gres(
          "Failed to validate job spec, --gpus is not multiple of --gres=gpu/--gpus-per-node");
    }
    const uint64_t nodes = gpus.total / gpus.each_node;
    const uint64_t each = spec.ntasks_per_node();  // with the tasks they give the least number of nodes
    const uint64_t least = spec.has_min_nodes() || each == 0 || release < kSlurm26
                               ? spec.min_nodes()
                               : (spec.ntasks() + each - 1) / each;
    const uint64_t most = spec.has_max_nodes() ? spec.max_nodes() : kNoMost;
    if (nodes < least || nodes > most) {
      return invalid_gres(
          "Failed to validate job spec. Based on --gpu and --gres=gpu/--gpus-per-node required nodes (" +
          std::to_string(nodes) + ") doesn't fall between min_nodes (" + std::to_string(least) +
          ") and max_nodes (" + std::to_string(most) + ") boundaries.");
    }
    spec.set_min_nodes(static_cast<uint32_t>(std::min(nodes, kMaxTasks)));
    spec.set_max_nodes(spec.min_nodes());
  }
  if (gpus.total != 0 && gpus.total < spec.min_nodes())
    return invalid_gres("Failed to validate job spec, --gpus < -N");
  return {};
}

// --gpus-per-task. `tasks` is the number of tasks without regard to GPUs.
Status tasks_from_gpus_per_task(model::JobSpec& spec, const Gpus& gpus, uint64_t tasks, int release) {
  if (spec.has_ntasks_per_gpu()) {
    return failure(
        "fatal: --gpus-per-task is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU", 1);
  }
  if (gpus.total == 0 && tasks == 0) {
    return invalid_gres(std::string("Failed to validate job spec. --gpus-per-task ") +
                        (release < kSlurm24 ? "" : "or --tres-per-task ") +
                        "used without either --gpus or -n/--ntasks is not allowed.");
  }
  if (gpus.total % gpus.each_task != 0)
    return invalid_gres("Failed to validate job spec, --gpus not multiple of --gpus-per-task");
  if (gpus.total != 0 && tasks != 0 && tasks != gpus.total / gpus.each_task) {
    return invalid_gres(
        "Failed to validate job spec. Based on --gpus and --gpus-per-task number of requested tasks differ "
        "from -n/--ntasks.");
  }
  if (Status done = tasks_on_each_node(spec, gpus.each_node, gpus.each_task); !done) return done;
  if (gpus.total != 0) return set_tasks(spec, gpus.total / gpus.each_task);
  if (spec.has_ntasks()) return {};
  if (release >= kSlurm26) return set_tasks(spec, tasks);
  // A task for each node, or as many as its GPUs serve.
  return set_tasks(spec, uint64_t{std::max(spec.min_nodes(), 1U)} * std::max(spec.ntasks_per_node(), 1U));
}

// --ntasks-per-gpu
Status tasks_from_tasks_per_gpu(model::JobSpec& spec, const Gpus& gpus, int release) {
  const uint64_t nodes = std::max(spec.min_nodes(), 1u);
  if (release >= kSlurm26 && spec.has_ntasks() && gpus.total == 0 && gpus.each_node == 0) {
    if (spec.ntasks() % spec.ntasks_per_gpu() == 0) return {};
    return invalid_gres("Failed to validate job spec, -n/--ntasks has to be a multiple of --ntasks-per-gpu.");
  }
  if (gpus.total != 0) return set_tasks(spec, gpus.total * spec.ntasks_per_gpu());
  if (gpus.each_node != 0) return set_tasks(spec, nodes * gpus.each_node * spec.ntasks_per_gpu());
  if (spec.has_ntasks()) return {};
  const bool nodes_known = spec.has_max_nodes() && spec.min_nodes() == spec.max_nodes();
  if (spec.has_min_nodes() && (nodes_known || release < kSlurm26))
    return set_tasks(spec, nodes * spec.ntasks_per_gpu());
  return invalid_gres(
      "gres_job_state_validate: --ntasks-per-tres needs either a GRES GPU specification or a node/ntask "
      "specification");
}

// The order of the checks is Slurm's: it decides which of several mistakes is reported.
Status from_gpus(model::JobSpec& spec, Geometry geometry) {
  const Gpus gpus{text::gpus_in(spec.gpus()), text::gpus_in(spec.gres_per_node()),
                  text::gpus_in(spec.gpus_per_task()), text::gpus_in(spec.gpus_per_socket())};
  if (Status done = check_gpu_options(spec, gpus, geometry); !done) return done;
  const uint64_t tasks = gpus.each_task != 0 ? tasks_before_gpus(spec, geometry.release) : 0;
  if (Status done = nodes_from_gpus(spec, gpus, geometry.release); !done) return done;
  if (gpus.each_task != 0) return tasks_from_gpus_per_task(spec, gpus, tasks, geometry.release);
  if (spec.has_ntasks_per_gpu()) return tasks_from_tasks_per_gpu(spec, gpus, geometry.release);
  return {};
}

// Sockets, cores and threads that are asked for with a known number of nodes, or all in one option, without
// -n, give one task each.
Status from_geometry(model::JobSpec& spec, Geometry geometry) {
  const bool one_number = !spec.has_max_nodes() || spec.min_nodes() == spec.max_nodes();
  // Nodes that are named are counted.
  const bool named = geometry.release >= kSlurm26 && !spec.node_list().empty();
  if (spec.has_ntasks() || !one_number || !(spec.has_min_nodes() || geometry.at_once || named)) return {};
  const bool all = spec.has_sockets_per_node() && spec.has_cores_per_socket() && spec.has_threads_per_core();
  if (geometry.needs_all && !all) return {};
  uint64_t tasks = std::max(spec.min_nodes(), 1u);
  const uint64_t alone = tasks;
  for (const uint64_t factor : {spec.sockets_per_node(), spec.cores_per_socket(), spec.threads_per_core()}) {
    if (factor > kMaxTasks / tasks) return refused("too many tasks: -B");
    tasks *= std::max<uint64_t>(factor, 1);
  }
  // A task for each node is what it has anyway; GPUs for each task want to know.
  const bool by_task = spec.gpus_per_task_size() > 0 || spec.has_ntasks_per_gpu();
  const bool by_hint = by_task && !spec.hint().empty() && spec.hint() != "multithread";
  const bool is_asked =
      spec.has_sockets_per_node() || spec.has_cores_per_socket() || spec.has_threads_per_core() || by_hint;
  if (tasks == alone && !(geometry.release >= kSlurm26 && is_asked)) return {};
  return set_tasks(spec, tasks);
}

void from_hint(model::JobSpec& spec, int release) {
  if (spec.hint().empty() || spec.hint() == "multithread") return;
  // Sockets or cores that are asked for say more than the hint.
  if (release >= kSlurm26 && (spec.has_sockets_per_node() || spec.has_cores_per_socket())) return;
  if (!spec.has_threads_per_core()) spec.set_threads_per_core(1);
  if (spec.hint() == "memory_bound" && !spec.has_cores_per_socket()) spec.set_cores_per_socket(1);
}

// Options that exclude each other.
Status check_exclusions(const model::JobSpec& spec, Geometry geometry) {
  if (spec.has_ntasks_per_gpu() && spec.has_ntasks_per_node())
    return refused(
        "fatal: --ntasks-per-node is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU");
  const bool gres_too =
      spec.tres_per_node().find("gpu", spec.tres_per_node().find("gpu") + 1) != std::string::npos;
  if (geometry.release >= kSlurm26 && geometry.has_gpus_per_node && geometry.has_gres && gres_too)
    return refused("fatal: --gpus-per-node and --gres=gpu are mutually exclusive.");
  if (geometry.release >= kSlurm24 && geometry.is_exclusive && geometry.is_oversubscribed)
    return refused("fatal: --exclusive and --oversubscribe options are mutually exclusive");
  return {};
}

// Checks that --batch names some of the features of --constraint.
Status check_batch_features(const model::JobSpec& spec, int release) {
  const auto names = [&](std::string_view list) {
    std::vector<std::string_view> found;
    for (size_t at = 0; (at = list.find_first_not_of("&|,()[] ", at)) != std::string_view::npos;) {
      const size_t end = std::min(list.find_first_of("&|,()[]* ", at), list.size());
      if (list[at] != '*') found.push_back(list.substr(at, end - at));
      at = list[at] == '*' ? std::min(list.find_first_of("&|,()[] ", at), list.size()) : end;
    }
    return found;
  };
  const auto known = names(spec.constraint());
  for (const std::string_view name : names(spec.batch_features())) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return refused(
        std::string(
            "Batch job submission failed: Job --batch option is invalid or not a subset of --constraint") +
        (release < kSlurm24 ? "s" : ""));
  }
  return {};
}

}  // namespace

namespace {
// --distribution=plane=N fills all nodes but the last with N tasks.
Status check_plane(const model::JobSpec& spec, int release) {
  constexpr std::string_view kPlane = "plane=";
  if (release < kSlurm26 || !text::starts_with_ignoring_case(spec.distribution(), kPlane)) return {};
  const auto size =
      text::parse_unsigned(std::string_view(spec.distribution()).substr(kPlane.size()), kMaxTasks);
  const uint64_t nodes = std::max(1U, spec.min_nodes());
  const uint64_t tasks = spec.has_ntasks() ? spec.ntasks() : nodes * std::max(1U, spec.ntasks_per_node());
  if (!size || nodes == 1 || (nodes - 1) * *size < tasks) return {};
  return refused("Too few processes for the requested {plane,node} distribution");
}
}  // namespace

Status imply_amounts(model::JobSpec& spec, Geometry geometry) {
  if (Status done = check_plane(spec, geometry.release); !done) return done;
  if (text::starts_with_ignoring_case(spec.distribution(), "arbitrary") && spec.node_list().empty()) {
    return refused(
        "With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option");
  }
  if (Status done = check_exclusions(spec, geometry); !done) return done;
  if (Status done = check_batch_features(spec, geometry.release); !done) return done;
  if (Status done = from_node_list(spec, geometry.release); !done) return done;
  if (Status done = from_geometry(spec, geometry); !done) return done;
  if (Status done = from_gpus(spec, geometry); !done) return done;
  if (Status done = check_gres_types(spec); !done) return done;
  from_hint(spec, geometry.release);
  return {};
}

std::optional<std::string> unlike_tasks_per_node(uint32_t each, uint32_t tasks, uint32_t nodes) {
  if (tasks <= each || tasks / std::max(1U, nodes) == each) return std::nullopt;
  return "Warning: can't honor --ntasks-per-node set to " + std::to_string(each) +
         " which doesn't match the requested tasks " + std::to_string(tasks) +
         " with the number of requested nodes " + std::to_string(nodes) + ". Ignoring --ntasks-per-node.";
}

}  // namespace minke::submit
