#include "sim/multifactor.h"

#include <algorithm>

#include "accounts/fair_shares.h"
#include "model/accounts.pb.h"
#include "model/cluster.pb.h"
#include "sim/accounts.h"
#include "sim/limits.h"
#include "sim/placed.h"

namespace minke::sim {

accounts::TresCounts tres_counts(const Trace& trace, const TraceJob& job) {
  accounts::TresCounts counts = {
      {"cpu", job.processors}, {"mem", job.memory_mib}, {"node", std::max(1u, job.nodes)}};
  if (job.gpus > 0) {
    counts.emplace_back("gres/gpu", job.gpus);
    if (const std::string& type = trace.names[job.gpu_type]; !type.empty())
      counts.emplace_back("gres/gpu:" + type, job.gpus);
  }
  return counts;
}

double billing_of(const accounts::TresCounts& counts, const MultifactorPolicy& policy,
                  const std::string& partition) {
  const auto weights = std::find_if(policy.billing.begin(), policy.billing.end(),
                                    [&](const auto& one) { return one.first == partition; });
  return accounts::billing_of(counts,
                              weights == policy.billing.end() ? accounts::TresWeights() : weights->second);
}

Multifactor::Multifactor(const Trace& trace, const MultifactorPolicy& policy,
                         const accounts::AccountBook& book,
                         std::span<const model::PartitionRecord> partitions, const sched::Machine& machine)
    : trace_(trace), policy_(policy), book_(book), layout_(machine.layout()), usage_(policy.half_life) {
  sched::PriorityFactors factors;
  factors.all_nodes = static_cast<std::uint32_t>(layout_.nodes().size());
  for (const auto& node : layout_.nodes()) factors.all_cpus += node.cpus;
  std::uint32_t most = 0;
  for (const auto& one : partitions) most = std::max(most, one.priority_job_factor());
  std::uint32_t most_qos = 0;
  for (const auto& [id, one] : book.qos()) most_qos = std::max(most_qos, one.priority());
  for (const auto& [name, weight] : policy.tres.each) factors.tres.push_back({weight, 0, available(name)});
  for (const TraceJob& job : trace.jobs) {
    const model::PartitionRecord& partition = partition_of(trace, job, partitions);
    const accounts::TresCounts counts = tres_counts(trace, job);
    const model::QosRecord& qos = *qos_of(trace, job, book);
    if (most_qos > 0) factors.qos = qos.priority() / static_cast<double>(most_qos);
    factors.nodes = std::max(1u, job.nodes);
    factors.cpus = job.processors;
    factors.partition = most > 0 ? partition.priority_job_factor() / static_cast<double>(most) : 0;
    for (std::size_t i = 0; i < factors.tres.size(); ++i)
      factors.tres[i].requested = static_cast<double>(accounts::count_of(counts, policy.tres.each[i].first));
    const auto parts = sched::priority_parts(policy.weights, factors);
    Known& known = jobs_.emplace_back();
    known.association = book.find(account_name(trace, job), user_name(trace, job))->id();
    known.tier = partition.priority_tier();
    known.billing = billing_of(counts, policy, partition.name());
    if (qos.has_usage_factor()) known.usage_factor = qos.usage_factor();
    known.fixed = parts.job_size + parts.partition + parts.qos + parts.tres;
  }
}

// In the whole cluster.
double Multifactor::available(const std::string& tres) const {
  double sum = 0;
  for (std::size_t id = 0; id < layout_.nodes().size(); ++id) {
    const auto& node = layout_.nodes()[id];
    if (tres == "cpu") sum += node.cpus;
    if (tres == "mem") sum += static_cast<double>(node.memory_mib);
    if (tres == "node") sum += 1;
    for (const auto& pool : layout_.pools_of(static_cast<sched::NodeId>(id))) {
      const std::string name = "gres/" + layout_.gres_name(pool.name);
      if (tres == name || tres == name + ":" + layout_.gres_kinds()[pool.kind].type)
        sum += static_cast<double>(pool.units);
    }
  }
  return sum;
}

std::uint64_t Multifactor::priority(std::uint32_t job, std::int64_t now) const {
  const Known& known = jobs_[job];
  const double age = std::clamp(
      static_cast<double>(now - trace_.jobs[job].submit) / static_cast<double>(policy_.weights.max_age), 0.0,
      1.0);
  const auto rank = ranks_.find(known.association);
  const double fair = rank == ranks_.end() ? 0 : rank->second.factor;
  const double all = known.fixed + policy_.weights.age * age + policy_.weights.fair_share * fair;
  return std::uint64_t{known.tier} << 32 | static_cast<std::uint32_t>(std::clamp(all, 1.0, 4294967294.0));
}

void Multifactor::submitted(std::uint32_t job) {
  for (std::uint32_t id = jobs_[job].association; id != 0; id = book_.parent(id)) ++active_[id];
}

void Multifactor::started(std::uint32_t job, std::int64_t now) {
  accounts::Run& run = running_[job];
  run.association = jobs_[job].association;
  run.billing = jobs_[job].billing;
  run.factor = jobs_[job].usage_factor;
  run.start = run.end = now;
}

void Multifactor::ended(std::uint32_t job, std::int64_t now) {
  auto run = running_.extract(job);
  run.mapped().end = now;
  usage_.add(run.mapped());
  for (std::uint32_t id = jobs_[job].association; id != 0; id = book_.parent(id)) --active_[id];
}

void Multifactor::calculate(std::int64_t now) {
  std::vector<std::uint32_t> order;  // makes sums independent of the map's order
  for (const auto& [job, run] : running_) order.push_back(job);
  std::sort(order.begin(), order.end());
  std::vector<accounts::Run> runs;
  for (const std::uint32_t job : order) {
    runs.push_back(running_.at(job));
    runs.back().end = now;
  }
  std::unordered_map<std::uint32_t, std::uint32_t> shares;
  if (policy_.allocation_shares) {
    shares = sched::allocation_shares(book_, sched::capacity_of(layout_), [this](std::uint32_t id) {
      const auto found = active_.find(id);
      return found != active_.end() && found->second > 0;
    });
  } else {
    for (const auto& [id, record] : book_.associations()) shares[id] = record.shares();
  }
  ranks_ = accounts::fair_shares(book_, usage_.totals(book_, runs, now), shares);
}

}  // namespace minke::sim
