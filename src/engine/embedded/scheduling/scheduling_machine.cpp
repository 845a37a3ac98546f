// Scheduling's machine: where jobs run, and what nodes, partitions and reservations offer. After each
// change the queue is looked at again.
#include <algorithm>
#include <utility>

#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/reservations.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/scheduling/world.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "os/log.h"
#include "text/hostlist.h"
#include "text/licenses.h"

namespace minke::engine {

namespace {

// The configured licenses, plus this cluster's part of shared resources.
std::vector<std::pair<std::string, uint32_t>> licenses_here(const Core& core) {
  auto licenses = core.config.licenses;
  for (const auto& [key, resource] : core.accounts->book().resources()) {
    for (const auto& share : resource.shares()) {
      if (share.cluster().empty())
        licenses.emplace_back(key, static_cast<uint32_t>(uint64_t{resource.count()} * share.percent() / 100));
    }
  }
  return licenses;
}

}  // namespace

std::vector<sched::LicenseShare> Scheduling::licenses_of(const Job& job) const {
  std::vector<sched::LicenseShare> held;
  const std::string allocated = job.details ? job.details->licenses_alloc : "";
  for (const auto& [name, count] : text::held_licenses(job.submission->spec().licenses(), allocated)) {
    if (const auto license = machine_.layout().find_license(name)) held.push_back({*license, count});
  }
  return held;
}

void Scheduling::number_cpus(const Job& job) {
  cpu_numbers_.give_back(job.id);
  for (model::NodeAllocation& node : job.details->nodes) {
    if (node.cpu_ids().empty()) {
      const auto id = machine_.layout().find_node(node.node());
      if (!id) continue;
      node.set_cpu_ids(cpu_numbers_.choose(node.node(), machine_.layout().nodes()[*id].cpus, node.cpus()));
    }
    cpu_numbers_.take(job.id, node.node(), node.cpu_ids());
  }
}

Status Scheduling::adopt(const Job& job) {
  auto placement = sched::from_model(machine_.layout(), job.details->nodes);
  if (!placement) return failure(placement.error());
  placement->licenses = licenses_of(job);
  const model::ReservationRecord* reservation = core_.reservations->find(core_.reservations->name_for(job));
  if (reservation != nullptr) placement->reservation = reservation->id();
  const auto partition = machine_.layout().find_partition(job.details->partition);
  const model::PartitionRecord* record = core_.nodes->find_partition(job.details->partition);
  for (sched::NodeShare& share : placement->nodes) {
    if (job.state == model::JOB_SUSPENDED) share.cpus = 0;
    if (partition && record != nullptr) share.rules = sched::rules_of(*record, *partition);
    share.rules.user = user_of(job);
  }
  machine_.adopt(*placement);
  if (job.state != model::JOB_SUSPENDED) number_cpus(job);
  const int64_t suspended = job.details->suspended_seconds;
  running_.add(job.id, job.start_time + suspended + sched::limit_seconds(job.time_limit_minutes),
               std::move(*placement));
  return {};
}

void Scheduling::job_started(Job& job, Start start) {
  if (start != Start::kAdopted) return;  // start() has booked it
  remove(job);
  if (const Status adopted = adopt(job); !adopted) {
    os::log_warning("job " + std::to_string(job.id) +
                    " runs outside the configured nodes: " + adopted.error().message);
  }
}

void Scheduling::release(const Job& job) {
  const auto placement = running_.remove(job.id);
  if (!placement) return;
  machine_.release(*placement);
  cpu_numbers_.give_back(job.id);
  request_pass();
}

void Scheduling::job_freed(Job& job, int64_t end_time) {
  release(job);
  if (!job.details) return;
  for (const model::NodeAllocation& node : job.details->nodes) core_.nodes->job_left(node.node(), end_time);
}

void Scheduling::time_limit_changed(const Job& job) {
  const int64_t suspended = job.details ? job.details->suspended_seconds : 0;
  running_.set_expected_end(job.id,
                            job.start_time + suspended + sched::limit_seconds(job.time_limit_minutes));
  request_pass();
}

void Scheduling::job_suspended(Job& job) {
  auto placement = running_.remove(job.id);
  if (!placement) return;
  machine_.release(*placement);
  for (sched::NodeShare& share : placement->nodes) share.cpus = 0;
  machine_.adopt(*placement);
  cpu_numbers_.give_back(job.id);
  // The time at which it will go on is unknown.
  running_.add(job.id, core_.now() + sched::limit_seconds(kUnlimited), std::move(*placement));
  request_pass();
}

void Scheduling::job_resumed(Job& job) {
  if (const auto placement = running_.remove(job.id)) machine_.release(*placement);
  (void)adopt(job);
}

void Scheduling::holds_changed() {
  auto holds = std::make_shared<const sched::Holds>(core_.reservations->holds(machine_.layout()));
  machine_.set_holds(std::move(holds), running_);
  request_pass();
}

void Scheduling::node_availability_changed(const std::string& node, bool available) {
  const auto id = machine_.layout().find_node(node);
  MINKE_CHECK(id.has_value());
  machine_.set_available(*id, available);
  request_pass();
}

void Scheduling::partition_changed(const model::PartitionRecord& partition, bool recount) {
  if (recount) return layout_changed();
  const auto id = machine_.layout().find_partition(partition.name());
  MINKE_CHECK(id.has_value());
  machine_.set_schedulable(*id, is_scheduled(partition));
  request_pass();
  std::vector<Job*> waiting;
  for (const auto& [id, job] : core_.state.jobs()) {
    const auto& names = job->submission->partitions;
    if (job->state == model::JOB_PENDING &&
        std::find(names.begin(), names.end(), partition.name()) != names.end())
      waiting.push_back(job.get());
  }
  for (Job* job : waiting) update(*job);
}

void Scheduling::withhold_lost_gpus() {
  const auto gpu = machine_.layout().gpu_name();
  for (const model::NodeRecord& node : core_.nodes->nodes()) {
    sched::DeviceSet lost;
    for (int i = 0; i < node.gpu_devices_size(); ++i) {
      if (core_.nodes->lost_gpus().contains(node.gpu_devices(i).uuid())) lost.set(static_cast<size_t>(i));
    }
    if (lost.any() && gpu) machine_.withhold(*machine_.layout().find_node(node.name()), *gpu, lost);
  }
}

void Scheduling::layout_changed() {
  std::vector<Job*> waiting;
  for (const auto& [id, job] : core_.state.jobs()) {
    if (job->state == model::JOB_PENDING && job->committed) waiting.push_back(job.get());
  }
  // Empties the queue, because entries refer to nodes and partitions by their index in the layout.
  for (Job* job : waiting) remove(*job);
  machine_ = build_machine(core_.nodes->offered(), core_.nodes->partitions(), licenses_here(core_));
  for (const auto& partition : core_.nodes->partitions()) {
    machine_.set_schedulable(*machine_.layout().find_partition(partition.name()), is_scheduled(partition));
  }
  withhold_lost_gpus();
  running_ = {};
  cpu_numbers_ = {};
  holds_changed();
  for (const auto& [id, job] : core_.state.jobs()) {
    if (job->holds_nodes() && job->details && !job->details->nodes.empty())
      (void)adopt(*job);  // if its nodes are gone, it stays unbooked
  }
  for (Job* job : waiting) update(*job);
  request_pass();
}

}  // namespace minke::engine
