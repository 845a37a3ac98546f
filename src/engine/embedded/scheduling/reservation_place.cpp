// The place of a reservation: its nodes and cores, named or searched,
// beside other reservations and jobs.
#include <algorithm>

#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/reservations.h"
#include "model/error.h"
#include "model/job_terms.pb.h"
#include "model/no_consume.h"
#include "sched/request.h"
#include "text/gres_count.h"
#include "text/hostlist.h"
#include "text/number.h"

namespace minke::engine {

using namespace model;

namespace {

bool may_overlap(const ReservationRecord& record) {
  return has_flag(record, "MAINT") || has_flag(record, "OVERLAP");
}

// The GRES that the reservation counts, in all: GPUs first.
std::vector<Gres> counted_gres(const ReservationRecord& record) {
  std::vector<Gres> list;
  if (record.gpu_count() > 0) {
    Gres& gpus = list.emplace_back();
    gpus.set_name("gpu");
    gpus.set_type(record.gpu_type());
    gpus.set_count(record.gpu_count());
  }
  list.insert(list.end(), record.gres().begin(), record.gres().end());
  return list;
}

using Units = std::vector<uint32_t>;  // by counted GRES

// Collects nodes of a reservation one by one until it has all that it wants.
class Shares {
 public:
  explicit Shares(ReservationRecord& record)
      : record_(record),
        cores_(record.core_count()),
        cores_left_(cores_),
        gres_(counted_gres(record)),
        gres_left_(gres_) {
    record.clear_shares();
  }

  // At most `free` of its CPUs, and `units` of its GRES.
  void take(const NodeRecord& node, uint32_t free, const Units& units) {
    ReservationRecord::Share& share = *record_.add_shares();
    share.set_node(node.name());
    for (size_t i = 0; i < gres_left_.size(); ++i) {
      Gres& left = gres_left_[i];
      const uint32_t taken_units = std::min(left.count(), units[i]);
      left.set_count(left.count() - taken_units);
      if (text::is_gpu(left)) {
        share.set_gpus(taken_units);
      } else if (taken_units > 0) {
        Gres& own = *share.add_gres() = gres_[i];
        own.set_count(taken_units);
      }
    }
    if (cores_ == 0) return;
    const uint32_t taken = std::max(1U, std::min(cores_left_, free));
    share.set_cpus(taken == node.cpus() ? 0 : taken);
    cores_left_ -= std::min(cores_left_, taken);
  }
  uint32_t count() const { return static_cast<uint32_t>(record_.shares_size()); }
  bool of_cores() const { return cores_ > 0; }
  uint32_t cores_left() const { return cores_left_; }
  bool counts_gres() const { return !gres_.empty(); }
  const std::vector<Gres>& gres_left() const { return gres_left_; }
  bool wants_gres() const {
    return std::any_of(gres_left_.begin(), gres_left_.end(), [](const Gres& one) { return one.count() > 0; });
  }
  // Whether a node with so many has any that are still wanted.
  bool wants_any_of(const Units& units) const {
    for (size_t i = 0; i < units.size(); ++i)
      if (gres_left_[i].count() > 0 && units[i] > 0) return true;
    return false;
  }

 private:
  ReservationRecord& record_;
  const uint32_t cores_;
  uint32_t cores_left_;
  const std::vector<Gres> gres_;
  std::vector<Gres> gres_left_;
};

uint32_t part_of(uint32_t amount, uint32_t nodes) {
  return nodes == 0 ? amount : (amount + nodes - 1) / nodes;
}

// Of each node as many as its part of what is left.
Units parts_of(const Units& free, const std::vector<Gres>& left, uint32_t nodes) {
  Units parts = free;
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = std::min(parts[i], part_of(left[i].count(), nodes));
  return parts;
}

// Units of that name, and type if it has one.
template <typename List>
uint64_t units_in(const List& list, const Gres& counted) {
  uint64_t count = 0;
  for (const auto& one : list) {
    const bool same_type = counted.type().empty() || type_of(one.type()) == counted.type();
    if (one.name() == counted.name() && same_type) count += text::units_of(one);
  }
  return count;
}

// Of a share of another reservation, whatever the type.
uint64_t units_held(const ReservationRecord::Share& share, const Gres& counted) {
  if (text::is_gpu(counted)) return share.gpus();
  uint64_t count = 0;
  for (const Gres& one : share.gres()) count += one.name() == counted.name() ? one.count() : 0;
  return count;
}

}  // namespace

// CPUs of the node that other reservations hold at that time.
Result<uint32_t> Reservations::cpus_of_others(const ReservationRecord& record, const NodeRecord& node) const {
  uint32_t used = 0;
  for (const ReservationRecord& other : records_) {
    if (other.id() == record.id() || may_overlap(record) || may_overlap(other)) continue;
    if (!meets(record, other)) continue;
    for (const ReservationRecord::Share& share : other.shares()) {
      if (share.node() != node.name()) continue;
      used += share.cpus() == 0 ? node.cpus() : share.cpus();
      if (used >= node.cpus() || record.core_count() == 0)
        return failure("reservation " + other.name() + " has node " + node.name(), kReservationOverlap);
    }
  }
  return used;
}

// Whether the job's resources on the node conflict with the reservation.
bool Reservations::is_in_the_way(const Job& job, const ReservationRecord& record,
                                 const NodeRecord& node) const {
  if (!job.holds_nodes() || !job.details ||
      job.start_time + sched::limit_seconds(job.time_limit_minutes) <= record.start_time())
    return false;
  // A job in another reservation is part of that one; a job in this one does not conflict with it.
  const ReservationRecord* const its = find(name_for(job));
  const auto is_here = [&](const auto& share) { return share.node() == node.name(); };
  return its == nullptr ||
         (its->id() != record.id() && std::none_of(its->shares().begin(), its->shares().end(), is_here));
}

Result<uint32_t> Reservations::free_cpus(const ReservationRecord& record, const NodeRecord& node) const {
  const auto reserved = cpus_of_others(record, node);
  if (!reserved) return reserved;
  uint32_t used = *reserved;
  uint32_t by = 0;
  for (const auto& [id, job] : core_.state.jobs()) {
    if (has_flag(record, "IGNORE_JOBS") || floats(record)) break;
    if (!is_in_the_way(*job, record, node)) continue;
    for (const NodeAllocation& allocation : job->details->nodes) {
      if (allocation.node() != node.name()) continue;
      used += allocation.cpus();
      by = id;
    }
  }
  const uint32_t free = node.cpus() - std::min(used, node.cpus());
  if (free == 0 || (used > 0 && record.core_count() == 0))
    return failure("job " + std::to_string(by) + " runs on node " + node.name(), kNodesBusy);
  // Whatever else is on the node has its first cores.
  if (used > 0 && has_flag(record, "FIRST_CORES"))
    return failure("the first cores of node " + node.name() + " are taken", kNodesBusy);
  return free;
}

// What nobody else has then of the GRES that the reservation counts.
std::vector<uint32_t> Reservations::free_gres(const ReservationRecord& record, const NodeRecord& node) const {
  const bool shared = std::any_of(node.gres().begin(), node.gres().end(),
                                  [](const Gres& gres) { return gres.name() == "shard"; });
  Units free;
  for (const Gres& counted : counted_gres(record)) {
    const uint64_t all = units_in(node.gres(), counted);
    uint64_t used = 0;
    // Who has shards on the rest of the node may have any GPU's.
    if (text::is_gpu(counted) && shared && record.core_count() > 0) used = all;
    for (const ReservationRecord& other : records_) {
      if (other.id() == record.id() || may_overlap(record) || may_overlap(other) || !meets(record, other))
        continue;
      for (const ReservationRecord::Share& share : other.shares())
        if (share.node() == node.name()) used += units_held(share, counted);
    }
    for (const auto& [id, job] : core_.state.jobs()) {
      if (has_flag(record, "IGNORE_JOBS") || floats(record)) break;
      if (!is_in_the_way(*job, record, node)) continue;
      for (const NodeAllocation& allocation : job->details->nodes)
        if (allocation.node() == node.name()) used += units_in(allocation.gres(), counted);
    }
    free.push_back(static_cast<uint32_t>(all - std::min(used, all)));
  }
  return free;
}

Status Reservations::take_named_nodes(const std::vector<std::string>& named,
                                      const std::vector<uint32_t>& cores_of_each,
                                      ReservationRecord& record) const {
  Shares shares(record);
  for (size_t i = 0; i < named.size(); ++i) {
    const NodeRecord* node = core_.nodes->find_node(named[i]);
    if (node == nullptr) return failure("there is no node " + named[i], kInvalidNodeName);
    const Result<uint32_t> free = free_cpus(record, *node);
    if (!free) return failure(free.error());
    const uint32_t most = cores_of_each.empty() ? *free : cores_of_each[i];
    if (most > *free) return failure("node " + named[i] + " has not so many cores free", kNodesBusy);
    const Units units =
        parts_of(free_gres(record, *node), shares.gres_left(), static_cast<uint32_t>(named.size() - i));
    if (!shares.of_cores() || shares.cores_left() > 0) shares.take(*node, most, units);
  }
  if (shares.wants_gres()) return failure("these nodes have not so many GRES free", kNodesBusy);
  return shares.cores_left() == 0 ? Status() : failure("these nodes have not so many cores", kNodesBusy);
}

Status Reservations::find_nodes(ReservationRecord& record) const {
  if (record.partition().empty()) record.set_partition(core_.nodes->default_partition().name());
  if (core_.nodes->find_partition(record.partition()) == nullptr)
    return failure("there is no partition " + record.partition(), kInvalidPartitionName);
  Shares shares(record);
  const uint32_t wanted = std::max(1u, record.node_count());
  const bool counted = record.node_count() > 0;
  for (const NodeRecord& node : core_.nodes->nodes()) {
    const bool enough = shares.of_cores()      ? shares.cores_left() == 0
                        : shares.counts_gres() ? !shares.wants_gres()
                                               : counted;
    if (enough && !shares.wants_gres() && (shares.of_cores() || shares.count() >= wanted)) break;
    if (!serves(record, node)) continue;
    const Units units = free_gres(record, node);
    if (shares.wants_gres() && !shares.wants_any_of(units)) continue;
    const uint32_t free = *free_cpus(record, node);
    // For a number of cores on a number of nodes: as evenly as free cores allow.
    const uint32_t nodes_left = wanted - shares.count();
    const bool even = shares.of_cores() && counted;
    shares.take(node, even ? std::min(free, part_of(shares.cores_left(), nodes_left)) : free,
                counted ? parts_of(units, shares.gres_left(), nodes_left) : units);
  }
  if (shares.cores_left() > 0 || shares.wants_gres() || shares.count() < wanted)
    return failure("there are not so many nodes that are free then", kNodesBusy);
  return {};
}

Status Reservations::choose_nodes(const std::vector<std::string>& named,
                                  const std::vector<uint32_t>& cores_of_each,
                                  ReservationRecord& record) const {
  return named.empty() ? find_nodes(record) : take_named_nodes(named, cores_of_each, record);
}

// Expands the named nodes, and sets the flags that follow from the form of the name.
Result<std::vector<std::string>> Reservations::names_of_nodes(const std::string& nodes,
                                                              ReservationRecord& record) const {
  const bool all = text::equals_ignoring_case(nodes, "ALL");
  if (!nodes.empty() && !all) {
    if (const Status cleared = set_flags(record, "-PART_NODES,ALL_NODES"); !cleared)
      return failure(cleared.error());
  }
  const bool part_nodes = has_flag(record, "PART_NODES");
  if (part_nodes && record.partition().empty())
    return failure("PART_NODES goes with a partition", kInvalidPartitionName);
  std::vector<std::string> named;
  std::string list = nodes;
  if (all && part_nodes) {
    const PartitionRecord* partition = core_.nodes->find_partition(record.partition());
    if (partition == nullptr)
      return failure("there is no partition " + record.partition(), kInvalidPartitionName);
    list = partition->nodes();
  } else if (all) {
    for (const NodeRecord& node : core_.nodes->nodes()) named.push_back(node.name());
    record.add_flags("ALL_NODES");
  }
  if (list.empty() || !named.empty()) return named;
  auto expanded = text::expand_hostlist(list);
  if (!expanded) return failure(expanded.error().message, kInvalidNodeName);
  return std::move(*expanded);
}

// Checks the reservation's own nodes if its place was not changed: other times may conflict.
Status Reservations::check_nodes(const ReservationRecord& record) const {
  for (const ReservationRecord::Share& share : record.shares()) {
    const NodeRecord* node = core_.nodes->find_node(share.node());
    if (node == nullptr) continue;
    if (const auto free = free_cpus(record, *node); !free) return failure(free.error());
  }
  return {};
}

// What TRESPerNode says of each node, of all of them: a processor at least.
void for_all_nodes(size_t named, ReservationPlace& place, ReservationRecord& record) {
  const uint32_t cores = std::max(1U, record.core_count());
  const uint32_t nodes = named > 0 ? static_cast<uint32_t>(named) : std::max(1U, record.node_count());
  if (named > 0) place.cores.assign(named, cores);
  record.set_core_count(cores * nodes);
  record.set_gpu_count(record.gpu_count() * nodes);
  for (Gres& gres : *record.mutable_gres()) gres.set_count(gres.count() * nodes);
}

// Whether some node has such GRES, and AccountingStorageTRES, where it is given, lists it.
Status Reservations::check_gres(const ReservationRecord& record) const {
  const config::AccountingPolicy& policy = core_.config.accounting;
  for (const Gres& counted : record.gres()) {
    const std::string name = "gres/" + counted.name();
    if (!policy.tres.empty() && !config::lists_tres(policy, name))
      return failure("TRES=" + name + ": AccountingStorageTRES does not list it", kInvalidTres);
    const auto& nodes = core_.nodes->nodes();
    if (std::none_of(nodes.begin(), nodes.end(),
                     [&](const NodeRecord& node) { return units_in(node.gres(), counted) > 0; }))
      return failure(
          "TRES=" + name + (counted.type().empty() ? "" : ":" + counted.type()) + ": no node has any",
          kInvalidTres);
  }
  return {};
}

Status Reservations::settle_place(ReservationPlace place, ReservationRecord& record) const {
  const auto named = names_of_nodes(place.nodes, record);
  if (!named) return failure(named.error());
  if (const Status known = check_gres(record); !known) return known;
  // Of GRES beside GPUs alone, a processor goes with them, as in Slurm.
  const bool of_gres_alone = record.gres_size() > 0 && record.gpu_count() == 0 && record.node_count() == 0 &&
                             record.core_count() == 0 && named->empty();
  if (of_gres_alone) record.set_core_count(1);
  if (place.per_node) for_all_nodes(named->size(), place, record);
  if (!record.partition().empty() && core_.nodes->find_partition(record.partition()) == nullptr)
    return failure("there is no partition " + record.partition(), kInvalidPartitionName);
  const bool of_each = !place.cores.empty();
  if (of_each ? place.cores.size() != named->size() : named->size() > 1 && record.core_count() > 0)
    return failure("CoreCnt says as many numbers as Nodes says nodes, or one where no node is named",
                   kInvalidCpuCount);
  if (!named->empty() && !has_flag(record, "SPEC_NODES")) {
    if (const Status set = set_flags(record, "+SPEC_NODES"); !set) return set;
  }
  const bool of_licenses_alone = named->empty() && record.node_count() == 0 && record.core_count() == 0 &&
                                 record.gpu_count() == 0 && record.gres().empty() &&
                                 !record.licenses().empty();
  if (of_licenses_alone) return {};
  return place.changed ? choose_nodes(*named, place.cores, record) : check_nodes(record);
}

}  // namespace minke::engine
