// The use of reservations by jobs and the scheduler: which ones a job may run in, which one it is in, and
// what they hold. State's thread.
#include <algorithm>
#include <set>

#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/reservations.h"
#include "engine/embedded/state/spec_change.h"
#include "model/error.h"
#include "model/job_spec.pb.h"
#include "model/lasting_state.pb.h"
#include "store/tables.h"
#include "text/hostlist.h"
#include "text/number.h"

namespace minke::engine {

using namespace model;

std::vector<sched::HoldId> Reservations::choices(const JobSpec& spec, uint32_t uid) const {
  std::vector<sched::HoldId> ids;
  for (const std::string_view name : text::split(spec.reservation(), ',')) {
    if (const ReservationRecord* record = find(std::string(name))) ids.push_back(record->id());
  }
  if (!ids.empty()) return ids;
  ids.push_back(0);
  for (const ReservationRecord& record : records_) {
    if (has_flag(record, "MAGNETIC") && spec.reservation().empty() && admits_to(record, spec, uid))
      ids.push_back(record.id());
  }
  return ids;
}

Status Reservations::has_room(const JobSpec& spec) const {
  const ReservationRecord* record = find(spec.reservation());
  if (spec.reservation().find(',') != std::string::npos || record == nullptr || !is_active(*record) ||
      record->shares().empty() || has_flag(*record, "FLEX") || has_flag(*record, "ANY_NODES") ||
      spec.hold() || spec.begin_time() > core_.now() || spec.dependencies_size() > 0)
    return {};
  const auto lacks = [&](const std::string& what) {
    return failure("reservation " + record->name() + " has " + what, kNodeConfigUnavailable);
  };
  std::set<std::string> names;
  uint64_t cpus = 0;
  for (const ReservationRecord::Share& share : record->shares()) {
    const NodeRecord* node = core_.nodes->find_node(share.node());
    names.insert(share.node());
    cpus += share.cpus() != 0 ? share.cpus() : node != nullptr ? node->cpus() : 0;
  }
  if (spec.min_nodes() > names.size()) return lacks("fewer nodes");
  if (uint64_t{spec.ntasks()} * std::max(1U, spec.cpus_per_task()) > cpus && !spec.overcommit())
    return lacks("fewer processors");
  const auto wanted = text::expand_hostlist(spec.node_list());
  for (size_t i = 0; wanted && i < wanted->size(); ++i)
    if (!names.contains((*wanted)[i])) return lacks("no node " + (*wanted)[i]);
  return {};
}

void Reservations::set_reservation(Job& job, const std::string& name) {
  JobSpec spec = job.submission->spec();
  if (spec.reservation() == name) return;
  spec.set_reservation(name);
  change_spec(core_, job, spec);
}

void Reservations::entered(Job& job, sched::HoldId id) {
  const auto record =
      std::find_if(records_.begin(), records_.end(), [&](const auto& one) { return one.id() == id; });
  if (record == records_.end()) return;
  if (job.submission->spec().reservation().empty()) return set_reservation(job, record->name());
  if (job.submission->spec().reservation() != record->name()) choose(job.id, record->name());
}

void Reservations::choose(uint32_t job_id, const std::string& name) {
  if (name.empty()) {
    if (chosen_.erase(job_id) > 0) core_.committer.row_changed(store::kReservedJobs.no_row(job_id));
    return;
  }
  chosen_[job_id] = name;
  ReservedJob choice;
  choice.set_job_id(job_id);
  choice.set_reservation(name);
  core_.committer.row_changed(store::kReservedJobs.row(choice));
}

std::string Reservations::name_for(const Job& job) const {
  const auto chosen = chosen_.find(job.id);
  return chosen == chosen_.end() ? job.submission->spec().reservation() : chosen->second;
}

void Reservations::job_ended(Job& job, bool) {
  choose(job.id, "");
}

void Reservations::job_waits_again(Job& job) {
  choose(job.id, "");
  if (records_.empty()) return;
  const std::string name = job.submission->spec().reservation();
  const ReservationRecord* record = name.empty() ? nullptr : find(name);
  if (record != nullptr && has_flag(*record, "MAGNETIC")) set_reservation(job, "");
}

sched::Holds Reservations::holds(const sched::MachineLayout& layout) const {
  return sched::holds_of(records_, layout);
}

}  // namespace minke::engine
