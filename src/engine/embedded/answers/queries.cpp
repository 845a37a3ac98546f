#include "engine/embedded/answers/queries.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "base/version.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/world.h"
#include "environment/job_paths.h"
#include "model/error.h"
#include "node/discovery.h"
#include "rpc/envelope.h"
#include "store/job_row.h"
#include "store/store.h"
#include "submit/text_limits.h"
#include "text/gres_count.h"
#include "text/hostlist.h"
#include "text/licenses.h"
#include "text/number.h"

namespace minke::engine {

using namespace model;

namespace {

void add_times(JobRecord& record, int64_t begin_time, int64_t now) {
  if (record.state() == JOB_PENDING) {
    const bool waits_for_others = record.reason() == WAIT_DEPENDENCY || record.reason() == WAIT_DEP_INVALID;
    if (record.eligible_time() > now) record.set_start_time(record.eligible_time());
    if (record.priority() == 0 || waits_for_others)
      record.set_eligible_time(begin_time > record.submit_time() ? begin_time : 0);
  }
  if ((record.state() == JOB_RUNNING || record.state() == JOB_SUSPENDED) &&
      record.time_limit_minutes() != kUnlimited) {
    int64_t suspended = record.suspended_seconds();
    if (record.state() == JOB_SUSPENDED) suspended += now - record.suspend_time();
    record.set_end_time(record.start_time() + suspended + int64_t{record.time_limit_minutes()} * 60);
  }
}

// Returns the number of nodes that the job asks for itself; it may need more for so many CPUs.
uint32_t add_counts(JobRecord& record, const BriefSpec& spec, const sched::Request* request,
                    const sched::LayoutPartition* partition) {
  uint32_t nodes = request ? request->min_nodes : std::max(1u, spec.min_nodes);
  const uint32_t tasks = request && request->tasks != 0 ? request->tasks
                         : spec.ntasks != 0             ? spec.ntasks
                                                        : nodes * std::max(1u, spec.ntasks_per_node);
  // The tasks that were asked for, also those that its GPUs do not take.
  const uint32_t all_cpus = std::max(tasks, spec.ntasks) * std::max(1u, spec.cpus_per_task);
  const uint32_t cpus = std::max(spec.overcommit ? nodes : all_cpus,  // tasks share CPUs
                                 nodes * std::max(1u, spec.min_cpus));
  uint32_t spread = 0;
  if (spec.ntasks_per_node != 0) spread = (tasks + spec.ntasks_per_node - 1) / spec.ntasks_per_node;
  if (spec.min_nodes == 0) nodes = std::max(nodes, spread);
  const uint32_t asked = nodes;
  const bool one_number = spec.min_nodes != 0 && spec.max_nodes <= spec.min_nodes;
  if (spec.max_nodes > spec.min_nodes && spec.min_nodes != 0)
    nodes = std::max(nodes, std::min(spread, spec.max_nodes));
  // At least as many nodes as this number of CPUs needs, where tasks can be on several.
  const bool grows =
      !one_number || (spoken_release() >= kSlurm24 && spec.cpus_per_task <= 1 && spec.ntasks_per_node == 0);
  if (spec.ntasks > 1 && grows && partition != nullptr && partition->most_cpus != 0) {
    const uint32_t needed = (all_cpus + partition->most_cpus - 1) / partition->most_cpus;
    const bool bounded = spec.max_nodes != 0 && !one_number;
    nodes = std::max(nodes, bounded ? std::min(needed, spec.max_nodes) : needed);
  }
  record.set_num_nodes(nodes);
  record.set_num_tasks(tasks);
  record.set_num_cpus(cpus);
  return asked;
}

}  // namespace

void add_request(JobRecord& record, const sched::Request* request, const sched::LayoutPartition* partition) {
  const uint32_t nodes = add_counts(record, BriefSpec::of(record.spec()), request, partition);
  const JobSpec& spec = record.spec();
  // Of several numbers of nodes none is known before it starts.
  const bool is_range = spec.has_max_nodes() && spec.max_nodes() > spec.min_nodes();
  if ((spec.node_counts_size() > 1 || is_range) && !spec.has_ntasks() && !spec.has_ntasks_per_node())
    record.set_num_cpus(std::max(1u, spec.cpus_per_task()));
  const uint32_t tasks = record.num_tasks();
  if (spec.has_mem_per_node_mib()) record.set_memory_mib(spec.mem_per_node_mib() * nodes);
  if (spec.has_mem_per_cpu_mib()) record.set_memory_mib(spec.mem_per_cpu_mib() * record.num_cpus());
  const bool all_memory = (spec.has_mem_per_node_mib() && spec.mem_per_node_mib() == 0) ||
                          (spec.has_mem_per_cpu_mib() && spec.mem_per_cpu_mib() == 0);
  if (all_memory && partition != nullptr) record.set_memory_mib(partition->first_memory_mib * nodes);
  // Several GPU options constrain each other and do not add up.
  // The total for the job says most.
  uint32_t gpus = 0;
  const auto add_gpus = [&](const google::protobuf::RepeatedPtrField<Gres>& list, uint32_t times) {
    if (gpus != 0) return;
    for (const Gres& gres : list) {
      if (gres.name() != "gpu") continue;
      gpus += gres.count() * times;
      add_gres(*record.mutable_tres_gres(), "gpu", gres.type(), gres.count() * times);
    }
  };
  add_gpus(spec.gpus(), 1);
  add_gpus(spec.gpus_per_task(), tasks);
  add_gpus(spec.gres_per_node(), nodes);
  add_gpus(spec.gpus_per_socket(), spec.sockets_per_node() * nodes);
  if (gpus == 0 && spec.ntasks_per_gpu() != 0 && spec.has_ntasks()) {
    gpus = (tasks + spec.ntasks_per_gpu() - 1) / spec.ntasks_per_gpu();
    add_gres(*record.mutable_tres_gres(), "gpu", "", gpus);
  }
  for (const auto& [list, times] :
       {std::pair{&spec.gres_per_node(), nodes}, std::pair{&spec.gpus_per_task(), tasks}}) {
    for (const Gres& gres : *list)
      if (gres.name() != "gpu")
        add_gres(*record.mutable_tres_gres(), gres.name(), gres.type(), gres.count() * times);
  }
  if (spec.has_mem_per_gpu_mib()) record.set_memory_mib(spec.mem_per_gpu_mib() * gpus);
  if (spoken_release() < kSlurm24 || !spec.has_cpus_per_gpu() || spec.cpus_per_gpu_by_default()) return;
  // Current releases count the processors that come with its GPUs before it starts.
  record.set_num_cpus(std::max(record.num_cpus(), gpus * spec.cpus_per_gpu()));
  if (spec.has_mem_per_cpu_mib()) record.set_memory_mib(spec.mem_per_cpu_mib() * record.num_cpus());
}

void add_gres(google::protobuf::RepeatedPtrField<Gres>& list, const std::string& name,
              const std::string& type, uint32_t count) {
  for (Gres& gres : list) {
    if (gres.name() != name || gres.type() != type) continue;
    gres.set_count(gres.count() + count);
    return;
  }
  Gres& gres = *list.Add();
  gres.set_name(name);
  gres.set_type(type);
  gres.set_count(count);
}

void mark_tracked(const config::AccountingPolicy& policy, google::protobuf::RepeatedPtrField<Gres>& list) {
  if (policy.tres.empty()) return;
  for (Gres& gres : list) {
    const std::string tres = "gres/" + gres.name();
    gres.set_untracked(!lists_tres(policy, tres));
    gres.set_typed(!gres.type().empty() && lists_tres(policy, tres + ":" + gres.type()));
  }
}

void add_holdings(StepRecord& step, const NodeAllocation& node) {
  step.set_num_cpus(node.cpus());
  step.set_memory_mib(node.memory_mib());
  for (const GresAllocation& gres : node.gres())
    add_gres(*step.mutable_tres_gres(), gres.name(), gres.type(), text::units_of(gres));
}

// Array tasks that were cancelled while pending, while the array went on. Slurm
// knows them only in accounting.
bool was_struck_out(const JobRecord& record) {
  return record.array_job_id() != 0 && record.job_id() != record.array_job_id() &&
         record.state() == JOB_CANCELLED && record.start_time() == 0;
}

std::vector<uint32_t> stored_ids(const api::JobFilter& filter, store::Store& store) {
  constexpr int kMostLooks = 1000;  // named jobs that are checked for being heterogeneous
  std::vector<uint32_t> ids;
  int looks = 0;
  for (const auto& selector : filter.jobs()) {
    ids.push_back(selector.job_id());
    if (!selector.tasks().empty() || ++looks > kMostLooks) continue;
    const auto first = store.job(selector.job_id());
    if (!first || !*first || (*first)->record.het_job_id() != selector.job_id()) continue;
    const std::string& set = (*first)->record.het_job_id_set();
    const auto last = text::parse_unsigned(std::string_view(set).substr(set.find('-') + 1), 0xffffffff);
    for (uint64_t id = uint64_t{selector.job_id()} + 1; last && id <= *last; ++id)
      ids.push_back(static_cast<uint32_t>(id));
  }
  return ids;
}

const sched::LayoutPartition* Queries::partition_of(const JobRecord& record) const {
  const sched::MachineLayout& layout = core_.world->machine().layout();
  const std::string_view first = std::string_view(record.partition()).substr(0, record.partition().find(','));
  for (const sched::LayoutPartition& partition : layout.partitions())
    if (partition.name == first) return &partition;
  return nullptr;
}

void Queries::complete(JobRecord& record, const Job* job, bool with_paths) {
  const JobSpec& spec = record.spec();
  if (record.partition().empty()) record.set_partition(spec.partition());
  record.set_account(spec.account());
  record.set_qos(spec.qos());
  if (record.nodes_size() == 0) {
    add_request(record, job == nullptr ? nullptr : core_.world->request_of(*job), partition_of(record));
    if (const auto* weights =
            core_.nodes->billing_weights(record.partition().substr(0, record.partition().find(',')))) {
      double billing = 0;
      tres_counts(record, weights, &billing);
      record.set_billing(billing);
    }
  } else {
    for (const NodeAllocation& node : record.nodes()) {
      for (const GresAllocation& gres : node.gres()) {
        add_gres(*record.mutable_tres_gres(), gres.name(), gres.type(), text::units_of(gres));
      }
    }
  }
  const config::AccountingPolicy& policy = core_.config.accounting;
  mark_tracked(policy, *record.mutable_tres_gres());
  if (!policy.tres.empty()) {
    for (const auto& [name, count] : text::held_licenses(spec.licenses(), record.licenses_alloc()))
      if (config::lists_tres(policy, "license/" + name))
        add_gres(*record.mutable_tres_licenses(), name, "", count);
  }
  if (with_paths) {
    const environment::JobPaths paths = environment::paths_of(record);
    record.set_stdin_path(paths.in.empty() ? "/dev/null" : paths.in);
    record.set_stdout_path(paths.out);
    record.set_stderr_path(paths.error.empty() ? paths.out : paths.error);
  }
  // Of several partitions none has given its longest limit yet.
  if (const size_t comma = record.partition().find(',');
      record.state() == JOB_PENDING && !spec.has_time_limit_minutes() && comma != std::string::npos) {
    const PartitionRecord* first = core_.nodes->find_partition(record.partition().substr(0, comma));
    if (first != nullptr && first->default_time_minutes() == 0) record.set_time_limit_minutes(kUnlimited);
  }
  add_times(record, record.spec().begin_time(), core_.now());
  // Every pass looks at what waits; at what runs, the one that started it.
  const int64_t last_pass = core_.diagnostics.last_pass();
  record.set_last_evaluation(record.state() != JOB_PENDING       ? record.start_time()
                             : last_pass >= record.submit_time() ? last_pass
                                                                 : 0);
}

void Queries::write_brief(const Job& job, JobRecord& record) {
  core_.state.write_record(job, record);
  const BriefSpec spec = job.submission->brief_spec();
  record.set_name(spec.name.data(), std::min(spec.name.size(), submit::kMostNameBytes));
  if (record.partition().empty()) record.set_partition(spec.partition.data(), spec.partition.size());
  record.set_account(spec.account.data(), spec.account.size());
  record.set_qos(spec.qos.data(), spec.qos.size());
  if (record.nodes_size() == 0) add_counts(record, spec, core_.world->request_of(job), partition_of(record));
  add_times(record, spec.begin_time, core_.now());
}

JobRecord Queries::full_record(const Job& job) {
  JobRecord record = core_.state.record_of(job);
  *record.mutable_spec() = job.submission->spec();
  submit::cut_texts(*record.mutable_spec());
  if (job.details && !job.details->dependencies.empty()) {
    record.mutable_spec()->clear_dependencies();
    for (const Dependency& term : job.details->dependencies)
      *record.mutable_spec()->add_dependencies() = term;
  }
  complete(record, &job);
  return record;
}

void Queries::script(const api::QueryScriptRequest& request, uint32_t uid, const Part& part) {
  rpc::AnswerEnvelope message;
  std::optional<store::ContentHash> hash;
  uint32_t owner = 0;
  if (const Job* job = core_.state.find(request.job_id())) {
    if (job->submission->script) hash = *job->submission->script;
    owner = job->uid;
  } else if (const auto stored = core_.store.job(request.job_id());
             stored && *stored && !(*stored)->script.empty()) {
    hash = (*stored)->script;
    owner = (*stored)->record.uid();
  }
  if (const Status access = core_.rights->access(uid, owner); hash && !access) {
    rpc::set_error(message.message(), access.error());
    return part(message.message(), true);
  }
  const auto content = hash ? core_.store.content(*hash) : Result<std::optional<std::string>>(std::nullopt);
  if (!content || !*content) {
    rpc::set_error(message.message(), content ? Error{kInvalidJobId, {}} : content.error());
  } else {
    message.body<api::ScriptReply>().set_script(**content);
  }
  part(message.message(), true);
}

}  // namespace minke::engine
