#include "engine/embedded/reservations.h"

#include <algorithm>
#include <chrono>

#include "engine/embedded/core.h"
#include "engine/embedded/lifecycle.h"
#include "engine/embedded/nodes.h"
#include "engine/embedded/scheduling.h"
#include "model/error.h"
#include "sched/request.h"
#include "text/hostlist.h"
#include "text/number.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr char kSetting[] = "reservation ";
constexpr int64_t kDay = 24 * 3600;

bool contains(const google::protobuf::RepeatedPtrField<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> names;
  for (const std::string_view name : text::split(list, ',')) names.emplace_back(name);
  return names;
}

bool may_overlap(const ReservationRecord& record) {
  return has_flag(record, "MAINT") || has_flag(record, "OVERLAP");
}

}  // namespace

Reservations::Reservations(Core& core) : core_(core) {
  timer_ = core_.loop.make_timer([this] { advance(); });
}

void Reservations::restore(const std::vector<std::pair<std::string, std::string>>& settings) {
  for (const auto& [name, value] : settings) {
    ReservationRecord record;
    if (name.starts_with(kSetting) && !value.empty() && record.ParseFromString(value))
      records_.push_back(record);
  }
  std::sort(records_.begin(), records_.end(), [](const auto& a, const auto& b) { return a.id() < b.id(); });
}

void Reservations::keep(const ReservationRecord& record) {
  core_.committer.setting_changed(kSetting + record.name(), record.SerializeAsString());
}

void Reservations::remove(const std::string& name) {
  std::erase_if(records_, [&](const auto& record) { return record.name() == name; });
  core_.committer.setting_changed(kSetting + name, "");
}

const ReservationRecord* Reservations::find(const std::string& names) const {
  for (const std::string& name : names_of(names)) {
    for (const ReservationRecord& record : records_) {
      if (record.name() == name) return &record;
    }
  }
  return nullptr;
}

ReservationRecord* Reservations::find_mutable(const std::string& name) {
  for (ReservationRecord& record : records_) {
    if (record.name() == name) return &record;
  }
  return nullptr;
}

bool Reservations::is_active(const ReservationRecord& record) const {
  return record.start_time() <= core_.now() && core_.now() < record.end_time();
}

const ReservationRecord* Reservations::holder_of(const std::string& node) const {
  const ReservationRecord* holder = nullptr;
  for (const ReservationRecord& record : records_) {
    const bool there = std::any_of(record.shares().begin(), record.shares().end(), [&](const auto& share) {
      return share.node() == node && share.cpus() == 0;
    });
    if (!there || !is_active(record)) continue;
    if (holder == nullptr || has_flag(record, "MAINT")) holder = &record;
  }
  return holder;
}

Status Reservations::admits(const JobSpec& spec, uint32_t uid) const {
  if (spec.reservation().empty()) return {};
  for (const std::string& name : names_of(spec.reservation())) {
    const ReservationRecord* record = find(name);
    if (record == nullptr) return failure("there is no reservation " + name, kReservationInvalid);
    const bool by_user = !record->users().empty();
    const bool by_account = !record->accounts().empty();
    const bool user = contains(record->users(), core_.state.user_name(uid)) != record->users_denied();
    const bool account = contains(record->accounts(), spec.account()) != record->accounts_denied();
    // Who is denied is kept out whatever else he is; of two lists that allow, either will do.
    const bool denied =
        (by_user && record->users_denied() && !user) || (by_account && record->accounts_denied() && !account);
    const bool allowed =
        (by_user && !record->users_denied() && user) || (by_account && !record->accounts_denied() && account);
    const bool any_allows =
        (by_user && !record->users_denied()) || (by_account && !record->accounts_denied());
    if (denied || (any_allows && !allowed))
      return failure("reservation " + name + " is not for this user", kReservationAccess);
  }
  return {};
}

Result<sched::HoldId> Reservations::hold_id(const JobSpec& spec) const {
  if (spec.reservation().empty()) return 0;
  const ReservationRecord* record = find(spec.reservation());
  if (record == nullptr) return failure("there is no reservation " + spec.reservation(), kReservationInvalid);
  return record->id();
}

std::vector<sched::Hold> Reservations::holds(const sched::MachineLayout& layout) const {
  std::vector<sched::Hold> holds;
  for (const ReservationRecord& record : records_) {
    // Those of some days of the week are as many weekly ones.
    const bool some_days = has_flag(record, "WEEKDAY") || has_flag(record, "WEEKEND");
    std::vector<ReservationRecord> occurrences{record};
    while (some_days && occurrences.back().start_time() < record.start_time() + 7 * kDay) {
      ReservationRecord next = occurrences.back();
      move_on(next, next.end_time());
      occurrences.push_back(std::move(next));
    }
    if (some_days) occurrences.pop_back();
    for (const ReservationRecord& one : occurrences) {
      for (const ReservationRecord::Share& share : record.shares()) {
        const auto node = layout.find_node(share.node());
        if (!node) continue;
        holds.push_back({.id = record.id(),
                         .node = *node,
                         .cpus = share.cpus(),
                         .start = one.start_time(),
                         .end = one.end_time(),
                         .period = some_days ? 7 * kDay : period_of(record),
                         .flexible = has_flag(record, "FLEX"),
                         .maintenance = has_flag(record, "MAINT")});
      }
    }
  }
  return holds;
}

std::vector<Job*> Reservations::jobs_in(const std::string& reservation, bool running) const {
  std::vector<Job*> jobs;
  for (const auto& [id, job] : core_.state.jobs()) {
    if (running ? !job->holds_nodes() : job->state != JOB_PENDING) continue;
    const auto names = names_of(job->submission->spec().reservation());
    if (std::find(names.begin(), names.end(), reservation) != names.end()) jobs.push_back(job.get());
  }
  return jobs;
}

Result<uint32_t> Reservations::free_cpus(const ReservationRecord& record, const NodeRecord& node) const {
  uint32_t used = 0;
  uint32_t by = 0;
  for (const ReservationRecord& other : records_) {
    if (other.id() == record.id() || may_overlap(record) || may_overlap(other)) continue;
    const sched::Hold hold{.start = other.start_time(), .end = other.end_time(), .period = period_of(other)};
    const sched::Hold own{
        .start = record.start_time(), .end = record.end_time(), .period = period_of(record)};
    if (!sched::overlaps(hold, record.start_time(), record.end_time()) &&
        !sched::overlaps(own, other.start_time(), other.end_time()))
      continue;
    for (const ReservationRecord::Share& share : other.shares()) {
      if (share.node() != node.name()) continue;
      used += share.cpus() == 0 ? node.cpus() : share.cpus();
      if (used >= node.cpus() || record.core_count() == 0)
        return failure("reservation " + other.name() + " has node " + node.name(), kReservationOverlap);
    }
  }
  for (const auto& [id, job] : core_.state.jobs()) {
    if (has_flag(record, "IGNORE_JOBS")) break;
    if (!job->holds_nodes() || !job->details ||
        job->start_time + sched::limit_seconds(job->time_limit_minutes) <= record.start_time())
      continue;
    // What runs in a reservation is part of that; what runs in this one is not in its way.
    if (find(job->submission->spec().reservation()) != nullptr) continue;
    for (const NodeAllocation& allocation : job->details->nodes) {
      if (allocation.node() != node.name()) continue;
      used += allocation.cpus();
      by = id;
    }
  }
  const uint32_t free = node.cpus() - std::min(used, node.cpus());
  if (free == 0 || (used > 0 && record.core_count() == 0))
    return failure("job " + std::to_string(by) + " runs on node " + node.name(), kNodesBusy);
  return free;
}

Status Reservations::choose_nodes(const std::vector<std::string>& named,
                                  const std::vector<uint32_t>& cores_of_each,
                                  ReservationRecord& record) const {
  const uint32_t cores = record.core_count();
  uint32_t cores_left = cores;
  record.clear_shares();
  const auto take = [&](const NodeRecord& node, uint32_t free) {
    ReservationRecord::Share& share = *record.add_shares();
    share.set_node(node.name());
    if (cores == 0) return;
    const uint32_t taken = std::min(cores_left, free);
    share.set_cpus(taken == node.cpus() ? 0 : taken);
    cores_left -= taken;
  };
  if (!named.empty()) {
    for (size_t i = 0; i < named.size(); ++i) {
      const NodeRecord* node = core_.nodes->find_node(named[i]);
      if (node == nullptr) return failure("there is no node " + named[i], kInvalidNodeName);
      const Result<uint32_t> free = free_cpus(record, *node);
      if (!free) return failure(free.error());
      const uint32_t most = cores_of_each.empty() ? *free : cores_of_each[i];
      if (most > *free) return failure("node " + named[i] + " has not so many cores free", kNodesBusy);
      if (cores == 0 || cores_left > 0) take(*node, most);
    }
    return cores_left == 0 ? Status() : failure("these nodes have not so many cores", kNodesBusy);
  }
  if (record.partition().empty()) record.set_partition(core_.nodes->default_partition().name());
  const PartitionRecord* partition = core_.nodes->find_partition(record.partition());
  if (partition == nullptr)
    return failure("there is no partition " + record.partition(), kInvalidPartitionName);
  const auto members = text::expand_hostlist(partition->nodes());
  const uint32_t wanted = std::max(1u, record.node_count());
  for (const NodeRecord& node : core_.nodes->nodes()) {
    const bool enough =
        record.node_count() > 0 ? static_cast<uint32_t>(record.shares_size()) >= wanted : true;
    if (cores > 0 ? cores_left == 0 : enough && record.node_count() > 0) break;
    if (!members || std::find(members->begin(), members->end(), node.name()) == members->end()) continue;
    if (!is_available(node.state())) continue;
    bool featured = true;
    for (const std::string_view feature : text::split(record.features(), '&'))
      featured = featured && (feature.empty() || contains(node.active_features(), std::string(feature)));
    const Result<uint32_t> free = featured ? free_cpus(record, node) : failure("");
    if (!free) continue;
    // So many cores on so many nodes: as evenly as there are free ones.
    const uint32_t nodes_left = wanted - static_cast<uint32_t>(record.shares_size());
    const bool even = cores > 0 && record.node_count() > 0;
    take(node, even ? std::min(*free, (cores_left + nodes_left - 1) / nodes_left) : *free);
  }
  if (cores_left > 0 || static_cast<uint32_t>(record.shares_size()) < wanted)
    return failure("there are not so many nodes that are free then", kNodesBusy);
  return {};
}

Status Reservations::apply(const rpc::UpdateReservationRequest& request, ReservationRecord& record) const {
  ReservationPlace place;
  bool place_changed = record.shares().empty();
  int64_t start_before = record.start_time();
  // What is counted from the start comes after it.
  std::vector<const rpc::Field*> fields;
  for (const rpc::Field& field : request.fields()) fields.push_back(&field);
  std::stable_partition(fields.begin(), fields.end(), [](const rpc::Field* field) {
    return text::equals_ignoring_case(field->name(), "StartTime") ||
           text::equals_ignoring_case(field->name(), "Flags");
  });
  for (const rpc::Field* field : fields) {
    if (const Status applied = apply_reservation_field(record, *field, core_.now(), place); !applied)
      return applied;
    for (std::string_view name : {"NodeCnt", "CoreCnt", "Nodes"})
      place_changed = place_changed || text::equals_ignoring_case(field->name(), name);
  }
  if (record.end_time() <= record.start_time() || record.end_time() <= core_.now())
    return failure("it would end before it begins, or has ended", kInvalidTimeValue);
  constexpr int64_t kGrace = 2;  // s: "now" was earlier when it was written
  if (record.start_time() != start_before && record.start_time() < core_.now() - kGrace)
    return failure("its start has passed", kInvalidTimeValue);
  if (record.users().empty() && record.accounts().empty()) return failure("", kReservationEmpty);
  std::vector<std::string> named;
  std::string& nodes = place.nodes;
  const bool part_nodes = has_flag(record, "PART_NODES") && !record.partition().empty();
  if (text::equals_ignoring_case(nodes, "ALL") && part_nodes) {
    const PartitionRecord* partition = core_.nodes->find_partition(record.partition());
    if (partition == nullptr)
      return failure("there is no partition " + record.partition(), kInvalidPartitionName);
    nodes = partition->nodes();
  } else if (text::equals_ignoring_case(nodes, "ALL")) {
    for (const NodeRecord& node : core_.nodes->nodes()) named.push_back(node.name());
    record.add_flags("ALL_NODES");
  }
  if (!nodes.empty() && named.empty()) {
    auto expanded = text::expand_hostlist(nodes);
    if (!expanded) return failure(expanded.error().message, kInvalidNodeName);
    named = std::move(*expanded);
  }
  if (!record.partition().empty() && core_.nodes->find_partition(record.partition()) == nullptr)
    return failure("there is no partition " + record.partition(), kInvalidPartitionName);
  const bool of_each = !place.cores.empty();
  if (of_each ? place.cores.size() != named.size() : named.size() > 1 && record.core_count() > 0)
    return failure("CoreCnt says as many numbers as Nodes says nodes, or one where no node is named",
                   kInvalidCpuCount);
  if (!named.empty() && !has_flag(record, "SPEC_NODES")) {
    rpc::Field spec_nodes;
    spec_nodes.set_name("Flags");
    spec_nodes.set_value("+SPEC_NODES");
    if (const Status set = apply_reservation_field(record, spec_nodes, core_.now(), place); !set) return set;
  }
  if (place_changed) return choose_nodes(named, place.cores, record);
  for (const ReservationRecord::Share& share : record.shares()) {
    const NodeRecord* node = core_.nodes->find_node(share.node());
    if (node == nullptr) continue;
    if (const auto free = free_cpus(record, *node); !free) return failure(free.error());
  }
  return {};
}

Result<std::string> Reservations::create(const rpc::UpdateReservationRequest& request, uint32_t uid) {
  ReservationRecord record;
  for (const ReservationRecord& other : records_) record.set_id(std::max(record.id(), other.id()));
  record.set_id(record.id() + 1);
  record.set_name(request.name());
  if (find(request.name()) != nullptr) return failure("", kReservationNameDuplicate);
  if (request.name().find_first_of(", \t\n=") != std::string::npos)
    return failure("'" + request.name() + "' cannot be a reservation's name", kReservationInvalid);
  record.set_start_time(core_.now());
  if (const Status applied = apply(request, record); !applied) return failure(applied.error());
  if (record.name().empty()) {
    // As in Slurm: after the first user or account, and a number.
    const std::string base = !record.accounts().empty() ? record.accounts(0)
                             : !record.users().empty()  ? record.users(0)
                                                        : core_.state.user_name(uid);
    for (uint32_t number = record.id(); record.name().empty() || find(record.name()) != nullptr; ++number)
      record.set_name(base + "_" + std::to_string(number));
  }
  const std::string name = record.name();
  keep(record);
  records_.push_back(std::move(record));
  return name;
}

Result<std::string> Reservations::change(const rpc::UpdateReservationRequest& request, uint32_t uid) {
  Result<std::string> name = request.name();
  if (request.change() == rpc::CREATE) {
    name = create(request, uid);
    if (!name) return name;
  } else {
    ReservationRecord* present = find_mutable(request.name());
    if (present == nullptr) return failure("there is no reservation " + request.name(), kReservationInvalid);
    if (request.change() == rpc::DELETE) {
      if (!jobs_in(request.name(), true).empty()) return failure("jobs run in it", kReservationBusy);
      remove(request.name());
    } else {
      ReservationRecord next = *present;
      if (const Status applied = apply(request, next); !applied) return failure(applied.error());
      *present = std::move(next);
      keep(*present);
    }
  }
  core_.scheduling->rebuild();
  advance();
  return name;
}

void Reservations::advance() {
  const int64_t now = core_.now();
  std::vector<std::string> over;
  for (ReservationRecord& record : records_) {
    if (record.end_time() > now) continue;
    const std::vector<Job*> running = jobs_in(record.name(), true);
    if (!has_flag(record, "FLEX")) {
      for (Job* job : running) core_.lifecycle->time_out(*job);
    }
    if (move_on(record, now)) {
      keep(record);
    } else {
      over.push_back(record.name());
    }
  }
  for (const std::string& name : over) remove(name);
  if (over.empty()) {
    core_.scheduling->holds_changed();
  } else {
    core_.scheduling->rebuild();  // jobs that name it wait for what no longer is
  }
  int64_t next = 0;
  for (const ReservationRecord& record : records_) {
    for (const int64_t time : {record.start_time(), record.end_time()}) {
      if (time > now && (next == 0 || time < next)) next = time;
    }
  }
  if (next == 0) return timer_->cancel();
  // The clock may be set meanwhile: it is looked at again after an hour.
  timer_->set_after(std::chrono::seconds(std::min<int64_t>(next - now, 3600)));
}

}  // namespace minke::engine
