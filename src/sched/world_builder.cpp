#include "sched/world_builder.h"

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "model/error.h"
#include "model/job_state.pb.h"
#include "sched/make_request.h"
#include "sched/reservation.h"
#include "text/hostlist.h"
#include "text/licenses.h"

namespace minke::sched {

using namespace model;

namespace {

constexpr std::uint64_t kMaxMemoryMib = std::uint64_t{1} << 40;

// Licenses of this cluster that the job has asked for, and so holds.
std::vector<LicenseShare> licenses_of(const JobRecord& record, const MachineLayout& layout) {
  std::vector<LicenseShare> held;
  for (const auto& [name, count] : text::held_licenses(record.spec().licenses(), record.licenses_alloc()))
    if (const auto license = layout.find_license(name)) held.push_back({*license, count});
  return held;
}

// Each once, in order.
std::vector<std::string> hosts_of(const std::string& list) {
  auto names = text::expand_hostlist(list);
  if (!names) return {};
  std::set<std::string> seen;
  std::erase_if(*names, [&](const std::string& name) { return !seen.insert(name).second; });
  return std::move(*names);
}

std::uint32_t parts_of(std::uint64_t all, std::size_t parts) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>((all + parts - 1) / parts, 0xffffffff));
}

}  // namespace

Result<World> World::build(WorldRecords records, std::int64_t now) {
  return WorldBuilder(std::move(records), now).build();
}

Result<World> WorldBuilder::build() {
  auto machine = make_machine();
  if (!machine) return failure(machine.error());
  world_ = World(std::move(*machine));
  world_->now_ = now_;
  world_->partitions_ = std::move(records_.partitions);
  take_reservations();
  take_jobs();
  book_running();
  book_hidden();
  book_hidden_licenses();
  enter_waiting();
  warn();
  world_->notes_ = std::move(notes_);
  return std::move(*world_);
}

void WorldBuilder::note(const Named& jobs, const std::string& what) {
  constexpr std::size_t kShown = 5;
  if (jobs.ids.empty()) return;
  std::string text = jobs.ids.size() == 1 ? "job " : "jobs ";
  for (std::size_t i = 0; i < std::min(kShown, jobs.ids.size()); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(jobs.ids[i]);
  if (jobs.ids.size() > kShown) text += " and " + std::to_string(jobs.ids.size() - kShown) + " more";
  notes_.push_back(text + ": " + what);
}

Result<Machine> WorldBuilder::make_machine() {
  std::set<std::string> known;
  for (NodeRecord& node : records_.nodes) {
    if (node.cpus() == 0) notes_.push_back("node " + node.name() + " has no CPUs, and is left out");
    *node.mutable_features() = node.active_features();
  }
  std::erase_if(records_.nodes, [](const NodeRecord& node) { return node.cpus() == 0; });
  if (records_.nodes.empty()) return failure("there are no nodes");
  if (records_.partitions.empty()) return failure("there are no partitions");
  for (const NodeRecord& node : records_.nodes) known.insert(node.name());
  std::vector<PartitionNodes> members;
  for (const PartitionRecord& partition : records_.partitions) {
    auto names = text::expand_hostlist(partition.nodes());
    if (!names)
      notes_.push_back("partition " + partition.name() +
                       ": its nodes are not known: " + names.error().message);
    std::vector<std::string> own = names ? std::move(*names) : std::vector<std::string>();
    if (std::erase_if(own, [&](const std::string& name) { return !known.contains(name); }) > 0)
      notes_.push_back("partition " + partition.name() + ": nothing is known of some of its nodes");
    members.push_back({partition.name(), std::move(own)});
  }
  std::vector<LicensePool> pools;
  for (const LicenseRecord& license : records_.licenses) pools.push_back({license.name, license.total});
  auto machine = Machine::build(records_.nodes, members, std::move(pools));
  if (!machine) return machine;
  for (const PartitionRecord& partition : records_.partitions)
    machine->set_schedulable(*machine->layout().find_partition(partition.name()), is_scheduled(partition));
  for (const NodeRecord& node : records_.nodes)
    machine->set_available(*machine->layout().find_node(node.name()), node.state() == NODE_IDLE);
  return machine;
}

void WorldBuilder::take_reservations() {
  auto& records = records_.reservations;
  std::erase_if(records, [](const ReservationRecord& one) { return one.end_time() <= one.start_time(); });
  HoldId last = 0;
  for (ReservationRecord& record : records) {
    record.set_id(++last);
    world_->reservations_.emplace(record.name(), last);
    if (floats(record)) {
      record.set_start_time(record.start_time() - now_);
      record.set_end_time(record.end_time() - now_);
    }
    if (has_flag(record, "MAGNETIC"))
      notes_.push_back(
          "reservation " + record.name() +
          " draws jobs in (MAGNETIC): whom it admits is not known, and nobody is forecast there");
  }
  if (records.empty()) return;
  world_->machine_.set_holds(std::make_shared<const Holds>(holds_of(records, world_->machine_.layout())), {});
}

void WorldBuilder::take_jobs() {
  for (JobRecord& record : records_.jobs) {
    if (record.time_limit_minutes() != 0 || record.state() == JOB_PENDING) continue;
    const std::int64_t seconds = record.end_time() - record.start_time();
    record.set_time_limit_minutes(seconds > 0 ? parts_of(static_cast<std::uint64_t>(seconds), 60)
                                              : kUnlimited);
  }
  learn();
  for (JobRecord& record : records_.jobs) {
    if (!World::holds_nodes(record) && record.state() != JOB_PENDING) continue;
    const std::uint32_t id = record.job_id();
    const std::uint32_t array = record.array_job_id();
    const auto [place, is_new] = world_->jobs_.try_emplace(id);
    if (!is_new) {
      twice_.add(id);
      continue;
    }
    place->second.record = std::move(record);
    if (array != 0) world_->arrays_[array].push_back(id);
  }
  for (auto& [array, ids] : world_->arrays_) std::sort(ids.begin(), ids.end());
}

void WorldBuilder::learn() {
  // By the end, and then by what is learned, so that the order of records does not matter.
  std::vector<std::tuple<std::int64_t, std::uint32_t, std::int64_t, std::int64_t, std::uint32_t>> ended;
  for (const JobRecord& record : records_.jobs) {
    if (record.state() < JOB_COMPLETE || record.completing() || record.start_time() == 0 ||
        record.end_time() == 0)
      continue;
    const Run run = World::run_of(record);
    ended.emplace_back(record.end_time(), run.uid, run.limit, record.end_time() - run.start - run.suspended,
                       run.cpus);
  }
  std::sort(ended.begin(), ended.end());
  for (const auto& [end, uid, limit, seconds, cpus] : ended)
    world_->beliefs_.ended(uid, limit, seconds, cpus);
}

// Those whose devices are not told get what the others have left.
void WorldBuilder::book_running() {
  std::vector<const JobRecord*> inexact;
  for (const auto& [id, job] : world_->jobs_) {
    if (!World::holds_nodes(job.record)) continue;
    if (job.record.nodes_size() == 0) {
      inexact.push_back(&job.record);
    } else if (!book(job.record)) {
      nowhere_.add(id);
    }
  }
  for (const JobRecord* record : inexact) {
    if (book(*record)) {
      if (hosts_of(record->node_list()).size() > 1) spread_.add(record->job_id());
    } else {
      nowhere_.add(record->job_id());
    }
  }
}

bool WorldBuilder::book(const JobRecord& record) {
  const MachineLayout& layout = world_->machine_.layout();
  Placement placement;
  if (record.nodes_size() == 0) {
    placement = equal_parts(record);
    if (placement.nodes.empty()) return false;
  } else if (auto exact = from_model(layout, record.nodes())) {
    placement = std::move(*exact);
  } else {
    return false;
  }
  drop_held_devices(placement);
  placement.licenses = licenses_of(record, layout);
  if (const auto reservations = world_->reservations_of(record.spec()); !reservations.empty())
    placement.reservation = reservations.front();
  const auto id = layout.find_partition(record.partition());
  const PartitionRecord* partition = world_->partition(record.partition());
  const bool suspended = record.state() == JOB_SUSPENDED;
  for (NodeShare& share : placement.nodes) {
    if (suspended) share.cpus = 0;
    share.memory_mib = std::min(share.memory_mib, kMaxMemoryMib);
    if (id && partition != nullptr) share.rules = rules_of(*partition, *id);
    share.rules.user = world_->user_of(record.uid());
    Held& held = held_[share.node];
    held.cpus += share.cpus;
    held.memory_mib += static_cast<std::int64_t>(share.memory_mib);
  }
  world_->machine_.adopt(placement);
  const Run run = World::run_of(record);
  // When one that is suspended will go on, nobody knows.
  const std::int64_t end = suspended ? std::max(run.start, record.suspend_time()) + kUnlimitedSeconds
                                     : run.start + run.suspended + run.limit;
  world_->running_.add(record.job_id(), end, std::move(placement));
  return true;
}

void WorldBuilder::drop_held_devices(Placement& placement) {
  Machine& machine = world_->machine_;
  const MachineLayout& layout = machine.layout();
  std::vector<Placement> taken;
  for (NodeShare& share : placement.nodes) {
    const LayoutNode& node = layout.nodes()[share.node];
    for (GresShare& gres : share.gres) {
      for (std::size_t i = node.first_pool; i < node.first_pool + node.pool_count; ++i)
        if (layout.pools()[i].kind == gres.kind) {
          gres.devices &= machine.free_devices(i);
          gres.units = std::min(gres.units, static_cast<std::uint32_t>(machine.free_device_count(i)));
        }
      if (gres.count() == 0) continue;
      NodeShare only{share.node, 0, 0, 0, {gres}};
      taken.push_back({.nodes = {std::move(only)}});
      machine.adopt(taken.back());
    }
    std::erase_if(share.gres, [](const GresShare& gres) { return gres.count() == 0; });
  }
  for (const Placement& one : taken) machine.release(one);
}

Placement WorldBuilder::equal_parts(const JobRecord& record) const {
  const MachineLayout& layout = world_->machine_.layout();
  Placement placement;
  const std::vector<std::string> names = hosts_of(record.node_list());
  for (const std::string& name : names) {
    const auto node = layout.find_node(name);
    if (!node) return {};
    NodeShare share;
    share.node = *node;
    share.cpus = std::max(1u, parts_of(record.num_cpus(), names.size()));
    share.memory_mib = (record.memory_mib() + names.size() - 1) / names.size();
    share.tasks = std::max(1u, parts_of(record.num_tasks(), names.size()));
    for (const Gres& gres : record.tres_gres())
      add_devices(gres, parts_of(gres.count(), names.size()), share);
    std::sort(share.gres.begin(), share.gres.end(),
              [](const GresShare& a, const GresShare& b) { return a.kind < b.kind; });
    placement.nodes.push_back(std::move(share));
  }
  return placement;
}

// The lowest ones that nobody holds.
void WorldBuilder::add_devices(const Gres& gres, std::uint32_t count, NodeShare& share) const {
  const Machine& machine = world_->machine_;
  const MachineLayout& layout = machine.layout();
  const LayoutNode& node = layout.nodes()[share.node];
  for (std::size_t i = node.first_pool; i < node.first_pool + node.pool_count && count > 0; ++i) {
    const GresPool& pool = layout.pools()[i];
    const GresKind& kind = layout.gres_kinds()[pool.kind];
    if (layout.gres_name(pool.name) != gres.name() || (!gres.type().empty() && kind.type != gres.type()))
      continue;
    const auto known = std::find_if(share.gres.begin(), share.gres.end(),
                                    [&](const GresShare& other) { return other.kind == pool.kind; });
    DeviceSet free = machine.free_devices(i);
    if (known != share.gres.end()) free &= ~known->devices;
    GresShare taken{pool.kind, lowest_devices(free, count)};
    if (pool.is_only_counted()) {
      const std::uint32_t own = known == share.gres.end() ? 0 : known->units;
      const auto there = static_cast<std::uint32_t>(machine.free_device_count(i));
      taken.units = std::min(count, there - std::min(there, own));
    }
    if (taken.count() == 0) continue;
    count -= taken.count();
    if (known != share.gres.end()) {
      known->devices |= taken.devices;
      known->units += taken.units;
    } else {
      share.gres.push_back(taken);
    }
  }
}

std::optional<NodeShare> WorldBuilder::hidden_on(const NodeRecord& record) const {
  NodeShare share;
  share.node = *world_->machine_.layout().find_node(record.name());
  share.tasks = 1;
  const auto known = held_.find(share.node);
  const Held held = known == held_.end() ? Held{} : known->second;
  const auto beyond = [](std::int64_t all, std::int64_t part) {
    return std::max<std::int64_t>(0, all - part);
  };
  share.cpus = static_cast<std::uint32_t>(beyond(record.allocated_cpus(), held.cpus));
  share.memory_mib = static_cast<std::uint64_t>(
      beyond(static_cast<std::int64_t>(record.allocated_memory_mib()), held.memory_mib));
  const MachineLayout& layout = world_->machine_.layout();
  const LayoutNode& node = layout.nodes()[share.node];
  for (const Gres& gres : record.allocated_gres()) {
    std::uint32_t in_use = 0;
    for (std::size_t i = node.first_pool; i < node.first_pool + node.pool_count; ++i) {
      const GresPool& pool = layout.pools()[i];
      const bool same = layout.gres_name(pool.name) == gres.name() &&
                        (gres.type().empty() || layout.gres_kinds()[pool.kind].type == gres.type());
      if (same) in_use += pool.units - static_cast<std::uint32_t>(world_->machine_.free_device_count(i));
    }
    if (gres.count() > in_use) add_devices(gres, gres.count() - in_use, share);
  }
  std::sort(share.gres.begin(), share.gres.end(),
            [](const GresShare& a, const GresShare& b) { return a.kind < b.kind; });
  if (share.cpus == 0 && share.memory_mib == 0 && share.gres.empty()) return std::nullopt;
  return share;
}

// What nodes say is allocated, and no job that is shown holds.
void WorldBuilder::book_hidden() {
  std::vector<std::string> nodes;
  for (const NodeRecord& record : records_.nodes) {
    const auto share = hidden_on(record);
    if (!share) continue;
    nodes.push_back(record.name());
    Placement placement{.nodes = {*share}};
    drop_held_devices(placement);
    world_->machine_.adopt(placement);
    world_->running_.add(World::kHidden | share->node, now_ + kUnlimitedSeconds, std::move(placement));
  }
  if (!nodes.empty())
    notes_.push_back("part of " + text::compress_hostlist_sorted(nodes) +
                     " is held by jobs that are not shown: until when, and who of them waits, is not known");
}

void WorldBuilder::book_hidden_licenses() {
  for (const LicenseRecord& license : records_.licenses) {
    const auto id = world_->machine_.layout().find_license(license.name);
    const std::int64_t held = std::int64_t{license.total} - world_->machine_.free_licenses(*id);
    if (held >= license.used) continue;
    Placement placement;
    placement.licenses.push_back({*id, static_cast<std::uint32_t>(license.used - held)});
    world_->machine_.adopt(placement);
    world_->running_.add(World::kHidden * 2 | *id, now_ + kUnlimitedSeconds, std::move(placement));
    notes_.push_back("licenses of " + license.name +
                     " are held by jobs that are not shown: until when is not known");
  }
}

void WorldBuilder::warn() {
  note(twice_, "it is there twice; the first record counts");
  note(nowhere_, "the nodes that it holds are not known");
  note(spread_, "what it holds on each of its nodes is not known; it is taken to hold equal parts");
  note(limited_,
       "limits of accounts hold it up, which are not known here; it has no forecast, and takes nobody's "
       "place");
  note(impossible_, "what it asks for is not there, as far as is shown");
  note(incomplete_, "of this heterogeneous job some components are not shown");
  std::set<std::uint32_t> factors;
  for (const PartitionRecord& partition : world_->partitions_)
    factors.insert(partition.priority_job_factor());
  const bool several = std::any_of(world_->jobs_.begin(), world_->jobs_.end(), [](const auto& one) {
    return one.second.queued && one.second.partitions.size() > 1;
  });
  if (factors.size() > 1 && several)
    notes_.push_back(
        "jobs that wait in several partitions are taken to have one priority in all of them, but partitions "
        "have "
        "different ones");
}

}  // namespace minke::sched
