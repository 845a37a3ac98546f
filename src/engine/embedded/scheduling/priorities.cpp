#include "engine/embedded/scheduling/priorities.h"

#include <algorithm>
#include <chrono>

#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/answers/queries.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/world.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "text/hostlist.h"

namespace minke::engine {

using namespace model;

namespace {

uint32_t clamped(double priority) {
  return static_cast<uint32_t>(std::clamp(priority, 1.0, 4294967294.0));
}

double total_of(const NodeRecord& node, const std::string& tres) {
  if (tres == "cpu") return node.cpus();
  if (tres == "mem") return static_cast<double>(node.memory_mib());
  if (tres == "node") return 1;
  double sum = 0;
  for (const Gres& gres : node.gres()) {
    if (tres == "gres/" + gres.name() || tres == "gres/" + gres.name() + ":" + gres.type())
      sum += gres.count();
  }
  return sum;
}

}  // namespace

Priorities::Priorities(Core& core) : core_(core), timer_(core.loop.make_timer([this] { calculate(); })) {}

bool Priorities::multifactor() const {
  return core_.config.priority.multifactor;
}

uint32_t Priorities::initial(const JobSpec& spec, uint32_t job_id) const {
  if (spec.hold()) return 0;
  if (spec.has_priority()) return spec.priority();
  if (multifactor()) return 1;  // until it enters the queue
  const int64_t priority = int64_t{4294901761} - job_id - spec.nice();
  return static_cast<uint32_t>(std::clamp<int64_t>(priority, 1, 0xfffffffe));
}

std::vector<const NodeRecord*> Priorities::nodes_of(const std::string& partition) const {
  std::vector<const NodeRecord*> found;
  const PartitionRecord* record = core_.nodes->find_partition(partition);
  const auto names = text::expand_hostlist(record == nullptr ? std::string() : record->nodes());
  for (const NodeRecord& node : core_.nodes->nodes()) {
    if (names && std::find(names->begin(), names->end(), node.name()) != names->end()) found.push_back(&node);
  }
  return found;
}

sched::PriorityFactors Priorities::factors(const Job& job, const JobSpec& spec,
                                           const sched::Request& request) const {
  JobRecord record;
  *record.mutable_spec() = spec;
  add_request(record, &request, &core_.world->machine().layout().partitions()[request.partition]);
  sched::PriorityFactors factors;
  const auto& layout = core_.world->machine().layout();
  const std::string& partition = layout.partitions()[request.partition].name;
  factors.eligible_seconds = std::max<int64_t>(0, calculated_ - job.eligible_time);
  factors.nodes = record.num_nodes();
  factors.cpus = record.num_cpus();
  factors.all_nodes = static_cast<uint32_t>(core_.nodes->nodes().size());
  for (const NodeRecord& node : core_.nodes->nodes()) factors.all_cpus += node.cpus();
  factors.fair_share = core_.accounts->fair_share(job.association);
  uint32_t most_partition = 0, most_qos = 0, most_association = 0;
  for (const PartitionRecord& one : core_.nodes->partitions())
    most_partition = std::max(most_partition, one.priority_job_factor());
  if (const auto* one = core_.nodes->find_partition(partition); one != nullptr && most_partition > 0)
    factors.partition = one->priority_job_factor() / static_cast<double>(most_partition);
  const accounts::AccountBook& book = core_.accounts->book();
  for (const auto& [id, one] : book.qos()) most_qos = std::max(most_qos, one.priority());
  if (const QosRecord* qos = book.qos(job.qos); qos != nullptr && most_qos > 0)
    factors.qos = qos->priority() / static_cast<double>(most_qos);
  for (const auto& [id, one] : book.associations()) {
    if (one.cluster().empty()) most_association = std::max(most_association, one.priority());
  }
  const AssociationRecord* own = book.association(job.association);  // or the nearest above
  while (own != nullptr && !own->has_priority()) own = book.association(book.parent(own->id()));
  if (own != nullptr && most_association > 0)
    factors.association = own->priority() / static_cast<double>(most_association);
  if (core_.config.priority.tres.empty()) {
    factors.nice = spec.nice();
    return factors;
  }
  const auto counts = tres_counts(record, core_.nodes->billing_weights(partition), nullptr);
  for (const auto& [name, weight] : core_.config.priority.tres.each) {
    double there = 0;
    for (const NodeRecord* node : nodes_of(partition)) there += total_of(*node, name);
    factors.tres.push_back({weight, static_cast<double>(accounts::count_of(counts, name)), there});
  }
  factors.nice = spec.nice();
  return factors;
}

double Priorities::changing_part(const Job& job) const {
  const sched::PriorityWeights& weights = core_.config.priority.weights;
  const double age = std::clamp(
      static_cast<double>(core_.now() - job.eligible_time) / static_cast<double>(weights.max_age), 0.0, 1.0);
  return weights.age * age + weights.fair_share * core_.accounts->fair_share(job.association);
}

double Priorities::partition_part(const std::string& partition) const {
  uint32_t most = 0;
  for (const PartitionRecord& one : core_.nodes->partitions())
    most = std::max(most, one.priority_job_factor());
  const PartitionRecord* record = core_.nodes->find_partition(partition);
  if (record == nullptr || most == 0) return 0;
  return core_.config.priority.weights.partition *
         (record->priority_job_factor() / static_cast<double>(most));
}

void Priorities::enter(Job& job, const JobSpec& spec, const sched::Request& request) {
  if (!multifactor() || job.priority == 0 || job.fixed_priority) return;
  sched::PriorityFactors all = factors(job, spec, request);
  sched::PriorityWeights weights = core_.config.priority.weights;
  all.fair_share = all.partition = 0;
  all.eligible_seconds = 0;
  const sched::PriorityParts parts = sched::priority_parts(weights, all);
  job.static_priority =
      parts.association + parts.job_size + parts.qos + parts.tres - static_cast<double>(parts.nice);
  job.priority = in_partition(job, core_.world->machine().layout().partitions()[request.partition].name);
}

uint32_t Priorities::in_partition(const Job& job, const std::string& partition) const {
  return clamped(job.static_priority + changing_part(job) + partition_part(partition));
}

void Priorities::something_waits() {
  if (timer_set_ || (!multifactor() && !core_.accounts->book().configured())) return;
  timer_set_ = true;
  timer_->set_after(std::chrono::seconds(core_.config.priority.calc_period));
}

void Priorities::calculate() {
  timer_set_ = false;
  calculated_ = core_.now();
  core_.accounts->calculate();
  core_.cluster_events.tell(&ClusterListener::priorities_changed);
}

void Priorities::policy_changed() {
  timer_set_ = false;
  timer_->cancel();
}

}  // namespace minke::engine
