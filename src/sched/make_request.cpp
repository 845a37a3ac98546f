#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "model/cluster.pb.h"
#include "model/error.h"
#include "model/job_spec.pb.h"
#include "sched/constraint.h"
#include "sched/explain.h"
#include "sched/machine.h"
#include "sched/make_request.h"
#include "sched/request.h"
#include "sched/request_gres.h"
#include "text/hostlist.h"
#include "text/licenses.h"
#include "text/number.h"

namespace minke::sched {
namespace {

// Beyond any machine, and small enough that products of two of them do not overflow.
constexpr std::uint32_t kMaxCount = 1u << 20;
constexpr std::uint64_t kMaxMemoryMib = std::uint64_t{1} << 40;

bool unlimited(std::uint32_t limit) {
  return limit == 0 || limit == kUnlimited;
}  // 0: not configured

std::string minutes_text(std::uint32_t minutes) {
  return minutes == kUnlimited ? "UNLIMITED" : std::to_string(minutes) + " min";
}

class Maker {
 public:
  Maker(const model::JobSpec& spec, const model::PartitionRecord& partition, const Machine& machine,
        const NodeNames& names, PossibleRequests* possible)
      : spec_(spec),
        partition_(partition),
        machine_(machine),
        layout_(machine.layout()),
        names_(names),
        possible_(possible) {}

  Result<Request> make() {
    const auto id = layout_.find_partition(partition_.name());
    if (!id) return failure("there is no partition " + partition_.name(), model::kInvalidPartitionName);
    request_.partition = *id;
    request_.exclusive =
        spec_.exclusive() || partition_.exclusive() || partition_.oversubscribe() == "EXCLUSIVE";
    request_.rules = rules_of(partition_, *id);
    request_.least_loaded = partition_.least_loaded_node();
    for (const auto step :
         {&Maker::constraint, &Maker::node_names, &Maker::time_limit, &Maker::licenses, &Maker::geometry,
          &Maker::gres, &Maker::tasks, &Maker::nodes, &Maker::cpus, &Maker::memory}) {
      if (auto done = (this->*step)(); !done) return failure(done.error());
    }
    const Status possible =
        possible_ == nullptr ? machine_.could_ever(request_) : possible_->could_ever(machine_, request_);
    if (!possible) return failure(possible.error());
    return std::move(request_);
  }

 private:
  Status time_limit() {
    const std::uint32_t most =
        unlimited(partition_.max_time_minutes()) ? kUnlimited : partition_.max_time_minutes();
    std::uint32_t limit = partition_.default_time_minutes() == 0 ? most : partition_.default_time_minutes();
    if (spec_.has_time_limit_minutes()) {
      limit = spec_.time_limit_minutes() == 0 ? kUnlimited : spec_.time_limit_minutes();
      if (limit > most) {
        return failure("--time=" + minutes_text(limit) + ": partition " + partition_.name() +
                           " allows at most " + minutes_text(most),
                       model::kInvalidTimeLimit);
      }
    }
    if (spec_.has_time_min_minutes() && spec_.time_min_minutes() > limit) {
      return failure("--time-min is above the time limit of " + minutes_text(limit), model::kInvalidTimeMin);
    }
    request_.time_limit_minutes = std::min(limit, most);
    if (spec_.has_time_min_minutes() && spec_.time_min_minutes() > 0 &&
        spec_.time_min_minutes() < request_.time_limit_minutes)
      request_.time_min_minutes = spec_.time_min_minutes();
    return {};
  }

  Status constraint() {
    if (!spec_.prefer().empty() && !parse_constraint(spec_.prefer(), layout_))
      return failure("--prefer=" + spec_.prefer() + ": there is no such feature", model::kInvalidPrefer);
    if (spec_.constraint().empty()) return {};
    auto constraint = parse_constraint(spec_.constraint(), layout_);
    if (!constraint) return failure(constraint.error());
    // What asks nothing of a node is no constraint.
    for (auto& any_of : constraint->cases) {
      if (any_of.front().empty()) any_of.clear();
    }
    if (constraint->cases.size() == 1) {
      request_.any_of = std::move(constraint->cases.front());
    } else {
      request_.cases = std::move(constraint->cases);
    }
    request_.feature_counts = std::move(constraint->counts);
    return {};
  }

  Status resolve_names(const std::vector<std::string>& names, const std::string& option,
                       std::vector<NodeId>& ids) {
    for (const auto& name : names) {
      const auto node = layout_.find_node(name);
      if (!node) return failure("--" + option + ": there is no node " + name, model::kInvalidNodeName);
      ids.push_back(*node);
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return {};
  }

  Status node_names() {
    if (!spec_.node_list().empty() && names_.required.empty()) {
      return failure("--nodelist=" + spec_.node_list() + " names no node", model::kInvalidNodeName);
    }
    if (auto done = resolve_names(names_.required, "nodelist", request_.required); !done) return done;
    if (auto done = resolve_names(names_.excluded, "exclude", request_.excluded); !done) return done;
    for (const NodeId node : request_.required) {
      const LayoutNode& known = layout_.nodes()[node];
      if (!layout_.partitions()[request_.partition].members.test(known.rank)) {
        return failure("--nodelist: node " + known.name + " is not in partition " + partition_.name(),
                       model::kNodesNotInPartition);
      }
      if (std::binary_search(request_.excluded.begin(), request_.excluded.end(), node)) {
        return failure("node " + known.name + " is in --nodelist and in --exclude", model::kInvalidNodeName);
      }
    }
    return {};
  }

  // Nodes with fewer sockets, cores or threads than they are to have are as good as excluded.
  Status geometry() {
    // As in Slurm, tasks that share processors need a node with as many.
    const std::uint32_t tasks = spec_.overcommit() ? spec_.ntasks_per_node() : 0;
    if (!spec_.has_sockets_per_node() && !spec_.has_cores_per_socket() && !spec_.has_threads_per_core() &&
        tasks == 0)
      return {};
    bool any = false;
    for (NodeId id = 0; id < layout_.nodes().size(); ++id) {
      const LayoutNode& node = layout_.nodes()[id];
      const bool serves = node.cpus >= tasks && node.sockets >= spec_.sockets_per_node() &&
                          node.cores / node.sockets >= spec_.cores_per_socket() &&
                          node.cpus / node.cores >= spec_.threads_per_core();
      any = any || (serves && layout_.partitions()[request_.partition].members.test(node.rank));
      if (!serves) request_.excluded.push_back(id);
    }
    std::sort(request_.excluded.begin(), request_.excluded.end());
    request_.excluded.erase(std::unique(request_.excluded.begin(), request_.excluded.end()),
                            request_.excluded.end());
    if (any) return {};
    return failure("no node of partition " + partition_.name() + " has so many " +
                       (tasks == 0 ? "sockets, cores or threads" : "processors as tasks"),
                   model::kNodeConfigUnavailable);
  }

  Status gres() {
    auto terms = resolve_gres(spec_, layout_);
    if (!terms) return failure(terms.error());
    request_.gres = terms->demands;
    gres_ = std::move(*terms);
    return {};
  }

  Status tasks() {
    if (spec_.min_nodes() > kMaxCount)
      return failure("--nodes=" + std::to_string(spec_.min_nodes()), model::kTooManyCpus);
    for (const std::uint32_t count : {spec_.ntasks(), spec_.ntasks_per_node()}) {
      if (count > kMaxCount) return failure(std::to_string(count) + " is out of range", model::kTooManyCpus);
    }
    if (spec_.has_ntasks() && spec_.ntasks() == 0) {
      return failure("--ntasks=0: a job has at least one task", model::kBadTaskCount);
    }
    request_.tasks = spec_.has_ntasks() ? spec_.ntasks() : gres_.tasks.value_or(0);
    request_.tasks_per_node =
        spec_.ntasks_per_node() > 0 ? spec_.ntasks_per_node() : gres_.tasks_per_node.value_or(0);
    request_.tasks_per_socket = spec_.ntasks_per_socket();
    request_.tasks_per_core = spec_.ntasks_per_core();
    return {};
  }

  tl::unexpected<Error> bad_node_count(const std::string& problem) const {
    return failure(problem, model::kInvalidNodeCount);
  }

  // How many nodes it may get, and whether the user gave a range.
  struct NodeCount {
    std::uint32_t least = 1, most = 1;
    bool is_range = false;
  };

  // --nodelist names more nodes than the job may have: it gets some of them.
  void choose_among_named() {
    const std::uint32_t most = spec_.has_min_nodes() ? std::max(spec_.min_nodes(), spec_.max_nodes()) : 0;
    if (most == 0 || request_.required.size() <= most) return;
    for (NodeId id = 0; id < layout_.nodes().size(); ++id) {
      if (!std::binary_search(request_.required.begin(), request_.required.end(), id))
        request_.excluded.push_back(id);
    }
    std::sort(request_.excluded.begin(), request_.excluded.end());
    request_.excluded.erase(std::unique(request_.excluded.begin(), request_.excluded.end()),
                            request_.excluded.end());
    request_.required.clear();
  }

  Status nodes() {
    choose_among_named();
    std::uint64_t counted = 0;  // by --constraint
    for (const FeatureCount& one : request_.feature_counts) counted += one.nodes;
    if (counted > kMaxCount) return bad_node_count("--constraint counts too many nodes");
    const std::uint32_t named =
        std::max(static_cast<std::uint32_t>(request_.required.size()), static_cast<std::uint32_t>(counted));
    NodeCount count{std::max(1u, named), std::max(1u, named)};
    if (spec_.has_min_nodes()) {
      if (auto done = nodes_given(named, counted, count); !done) return done;
    } else {
      nodes_implied(named, count);
    }
    if (auto done = fit_gpus(count); !done) return done;
    if (auto done = fit_tasks(named, count); !done) return done;
    if (auto done = check_job_gres(count); !done) return done;
    if (auto done = fit_partition(count); !done) return done;
    request_.min_nodes = count.least;
    request_.max_nodes = std::max(count.least, count.most);
    for (const std::uint32_t allowed : spec_.node_counts()) {
      if (allowed >= request_.min_nodes && allowed <= request_.max_nodes)
        request_.node_counts.push_back(allowed);
    }
    if (spec_.node_counts_size() > 0) {
      auto& counts = request_.node_counts;
      std::sort(counts.begin(), counts.end());
      counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
      if (counts.empty()) return bad_node_count("--nodes: none of these counts is possible");
      request_.min_nodes = counts.front();
      request_.max_nodes = counts.back();
    }
    request_.as_many_nodes =
        (count.is_range || spec_.spread_job()) && !spec_.use_min_nodes() && request_.max_nodes > count.least;
    request_.contiguous = spec_.contiguous() && request_.max_nodes > 1;
    return {};
  }

  // --nodes
  Status nodes_given(std::uint32_t named, std::uint64_t counted, NodeCount& count) const {
    // "0,2": two, as no node is none.
    const bool lists_more = spec_.node_counts_size() > 0 && spec_.max_nodes() > 0;
    if (spec_.min_nodes() == 0 && !lists_more)
      return bad_node_count("--nodes=0: a job has at least one node");
    count.least = std::max(spec_.min_nodes(), 1u);
    count.most = spec_.max_nodes() > 0 ? spec_.max_nodes() : count.least;
    count.is_range = count.most > count.least;
    if (count.most < count.least) return bad_node_count("--nodes: the most is below the least");
    if (counted > count.most)
      return failure("--constraint counts more nodes than --nodes allows", model::kNodeConfigUnavailable);
    count.least = std::max(count.least, named);
    return {};
  }

  // What GPUs and tasks ask for where --nodes says nothing.
  void nodes_implied(std::uint32_t named, NodeCount& count) const {
    if (gres_.nodes) {
      count.least = count.most = std::max(*gres_.nodes, named);
    } else if (request_.tasks > 0) {
      if (request_.tasks_per_node > 0)
        count.least =
            std::max(count.least, (request_.tasks + request_.tasks_per_node - 1) / request_.tasks_per_node);
      count.most = request_.tasks;
    } else if (const std::uint32_t job_gres = job_wide_gres(); job_gres > 0) {
      count.most = job_gres;
    }
  }

  Status fit_gpus(NodeCount& count) const {
    if (!gres_.nodes) return {};
    if (*gres_.nodes < count.least || *gres_.nodes > count.most)
      return bad_node_count("--gpus and the GPUs for each node make " + std::to_string(*gres_.nodes) +
                            " nodes, which --nodes or --nodelist does not allow");
    count.least = count.most = *gres_.nodes;
    return {};
  }

  Status fit_tasks(std::uint32_t named, NodeCount& count) const {
    if (request_.tasks == 0) return {};
    if (request_.tasks < named)
      return failure(
          "--ntasks=" + std::to_string(request_.tasks) + " leaves nodes that are asked for without a task",
          model::kBadTaskCount);
    count.least = std::min(count.least, request_.tasks);  // as sbatch does, with a warning
    count.most = std::min(count.most, request_.tasks);
    return {};
  }

  Status check_job_gres(const NodeCount& count) const {
    const std::uint32_t job_gres = job_wide_gres();
    if (job_gres == 0 || job_gres >= count.least) return {};
    return failure("--gpus=" + std::to_string(job_gres) + " does not give each of " +
                       std::to_string(count.least) + " nodes one",
                   model::kInvalidGres);
  }

  Status fit_partition(NodeCount& count) const {
    const std::uint32_t most_allowed =
        unlimited(partition_.max_nodes()) ? kUnlimited : partition_.max_nodes();
    if (count.least > most_allowed)
      return bad_node_count("--nodes=" + std::to_string(count.least) + ": partition " + partition_.name() +
                            " allows at most " + std::to_string(most_allowed));
    if (count.most < partition_.min_nodes())
      return bad_node_count("--nodes=" + std::to_string(count.most) + ": partition " + partition_.name() +
                            " wants at least " + std::to_string(partition_.min_nodes()));
    count.least = std::max(count.least, partition_.min_nodes());
    // No more than there are, so that requests that differ only beyond that are of one class.
    const std::uint32_t there_are = layout_.partitions()[request_.partition].size;
    count.most = std::min({count.most, std::max(there_are, count.least), most_allowed});
    return {};
  }

  std::uint32_t job_wide_gres() const {
    for (const GresDemand& demand : request_.gres) {
      if (demand.per_job > 0) return demand.per_job;
    }
    return 0;
  }

  // With -m arbitrary a node gets a task each time that it is named. Nodes have as many CPUs as the one that
  // is named most often needs: by blocks, the tasks might lie elsewhere than the step then wants them.
  std::uint64_t most_arbitrary_tasks() const {
    if (!text::starts_with_ignoring_case(spec_.distribution(), "arbitrary")) return 1;
    std::map<std::string_view, std::uint64_t> times;
    std::uint64_t most = 1;
    for (const std::string& name : names_.required) most = std::max(most, ++times[name]);
    return most;
  }

  Status cpus() {
    request_.cpus_per_task = spec_.has_cpus_per_task() ? spec_.cpus_per_task() : 1;
    request_.overcommit = spec_.overcommit() && !request_.exclusive;
    request_.min_cpus_per_node = std::max(1u, spec_.min_cpus());
    if (const std::uint64_t tasks = most_arbitrary_tasks(); tasks > 1 && !request_.overcommit) {
      const std::uint64_t cpus = std::min<std::uint64_t>(tasks * request_.cpus_per_task, kMaxCount);
      request_.min_cpus_per_node = std::max(request_.min_cpus_per_node, static_cast<std::uint32_t>(cpus));
    }
    request_.cpus_per_gpu = spec_.cpus_per_gpu();
    if (request_.cpus_per_task == 0) return failure("--cpus-per-task=0 is invalid", model::kInvalidCpuCount);
    for (const auto& [count, option] : {std::pair{request_.cpus_per_task, "--cpus-per-task="},
                                        std::pair{request_.min_cpus_per_node, "--mincpus="},
                                        std::pair{request_.cpus_per_gpu, "--cpus-per-gpu="}}) {
      if (count > kMaxCount)
        return failure(option + std::to_string(count) + " is out of range", model::kTooManyCpus);
    }
    return {};
  }

  Status memory() {
    const auto demand = [&](MemoryDemand kind, std::uint64_t mib) {
      request_.memory = kind;
      request_.memory_mib = mib;
    };
    const bool has_gpus = std::any_of(request_.gres.begin(), request_.gres.end(),
                                      [&](const GresDemand& d) { return layout_.gpu_name() == d.name; });
    if (spec_.has_mem_per_gpu_mib() && has_gpus) {
      demand(MemoryDemand::kPerGpu, spec_.mem_per_gpu_mib());
    } else if (spec_.has_mem_per_cpu_mib()) {
      demand(MemoryDemand::kPerCpu, spec_.mem_per_cpu_mib());
    } else if (spec_.has_mem_per_node_mib()) {
      demand(MemoryDemand::kPerNode, spec_.mem_per_node_mib());
    } else if (partition_.has_default_mem_per_cpu_mib()) {
      demand(MemoryDemand::kPerCpu, partition_.default_mem_per_cpu_mib());
    } else if (partition_.has_default_mem_per_node_mib()) {
      demand(MemoryDemand::kPerNode, partition_.default_mem_per_node_mib());
    }
    if (request_.memory != MemoryDemand::kNone && request_.memory_mib == 0)
      demand(MemoryDemand::kWholeNode, 0);
    if (spec_.tmp_mib() > kMaxMemoryMib)
      return failure("--tmp=" + memory_text(spec_.tmp_mib()) + " is out of range",
                     model::kNodeConfigUnavailable);
    if (request_.memory_mib > kMaxMemoryMib)
      return failure("--mem=" + memory_text(request_.memory_mib) + " is out of range",
                     model::kNodeConfigUnavailable);
    request_.tmp_mib = spec_.tmp_mib();
    return {};
  }

  // "matlab:2,ansys", or with "|" between them: either.
  Status licenses() {
    auto wanted = text::parse_license_request(spec_.licenses());
    if (!wanted) return failure(wanted.error().message, model::kInvalidLicenses);
    request_.any_license = wanted->any && wanted->licenses.size() > 1;
    for (const auto& [name, count] : wanted->licenses) {
      const auto license = layout_.find_license(name);
      if (!license) return failure("--licenses: there is no license " + name, model::kInvalidLicenses);
      const auto known = std::find_if(request_.licenses.begin(), request_.licenses.end(),
                                      [&](const LicenseDemand& d) { return d.license == *license; });
      if (request_.any_license || known == request_.licenses.end()) {
        request_.licenses.push_back({*license, count});
      } else {
        known->count = std::min(known->count, kMaxCount) + count;
      }
    }
    if (request_.any_license) return {};
    std::sort(request_.licenses.begin(), request_.licenses.end(),
              [](const LicenseDemand& a, const LicenseDemand& b) { return a.license < b.license; });
    return {};
  }

  const model::JobSpec& spec_;
  const model::PartitionRecord& partition_;
  const Machine& machine_;
  const MachineLayout& layout_;
  const NodeNames& names_;
  PossibleRequests* const possible_;
  GresTerms gres_;
  Request request_;
};

}  // namespace

NodeRules rules_of(const model::PartitionRecord& partition, PartitionId id) {
  NodeRules rules;
  const std::uint32_t on_node = partition.max_cpus_per_node(), on_socket = partition.max_cpus_per_socket();
  if (!unlimited(on_node) || !unlimited(on_socket)) {
    rules.cpu_group = id + 1;
    rules.group_cpus = unlimited(on_node) ? kUnlimited : on_node;
    rules.socket_cpus = unlimited(on_socket) ? 0 : static_cast<std::uint16_t>(std::min(on_socket, 0xffffU));
  }
  rules.alone = partition.exclusive_user();
  return rules;
}

Result<Request> make_request(const model::JobSpec& spec, const model::PartitionRecord& partition,
                             const Machine& machine, const NodeNames& names) {
  return Maker(spec, partition, machine, names, nullptr).make();
}

Result<Request> make_request(const model::JobSpec& spec, const model::PartitionRecord& partition,
                             const Machine& machine, std::uint32_t time_limit_minutes,
                             PossibleRequests* possible) {
  NodeNames names;
  for (const auto& [list, into] :
       {std::pair{&spec.node_list(), &names.required}, std::pair{&spec.exclude(), &names.excluded}}) {
    if (list->empty()) continue;
    auto expanded = text::expand_hostlist(*list);
    if (!expanded) return failure(expanded.error().message, model::kInvalidNodeName);
    *into = std::move(*expanded);
  }
  auto request = Maker(spec, partition, machine, names, possible).make();
  if (request && time_limit_minutes != 0) request->time_limit_minutes = time_limit_minutes;
  return request;
}

Status PossibleRequests::could_ever(const Machine& machine, const Request& request) {
  Request kind = request;
  kind.time_limit_minutes = 0;  // of a machine without jobs it does not matter for how long
  kind.time_limit_extra_seconds = kind.time_min_minutes = 0;
  const auto [verdict, is_new] = known_.try_emplace(std::move(kind));
  if (is_new) verdict->second = machine.could_ever(request);
  return verdict->second;
}

bool is_scheduled(const model::PartitionRecord& partition) {
  return partition.state() != "DOWN" && partition.state() != "INACTIVE";
}

}  // namespace minke::sched
