// Lists nodes with the resources that jobs hold, and partitions with the resources of their nodes.
#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api/machine.pb.h"
#include "config/listing.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/answers/listing_in_pieces.h"
#include "engine/embedded/answers/long_queries.h"
#include "engine/embedded/answers/queries.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/reservations.h"
#include "engine/embedded/scheduling/world.h"
#include "model/job_record.pb.h"
#include "model/no_consume.h"
#include "node/discovery.h"
#include "text/gres_count.h"
#include "text/hostlist.h"

namespace minke::engine {

using namespace model;

namespace {

void add_held(google::protobuf::RepeatedPtrField<GresAllocation>& list, const GresAllocation& held) {
  for (GresAllocation& known : list) {
    if (known.name() != held.name() || known.type() != held.type()) continue;
    known.mutable_indices()->MergeFrom(held.indices());
    known.set_count(known.count() + held.count());
    return;
  }
  *list.Add() = held;
}

// A snapshot at the begin of the list, so that a job that moves on meanwhile is counted on one node only.
class NodeListing final : public ListingInPieces {
 public:
  NodeListing(Core& core, LongAnswer& answer) : ListingInPieces(answer), core_(core) {
    reply<api::NodesReply>().set_now(core.now());
    NodeRecord load;
    node::refresh_load(load);
    for (const NodeRecord& configured : core.nodes->nodes()) {
      places_.emplace(configured.name(), records_.size());
      NodeRecord& record = records_.emplace_back(configured);
      record.set_cpu_load(load.cpu_load());
      record.set_free_memory_mib(load.free_memory_mib());
      record.set_last_busy(std::max(core.started, core.nodes->last_end(record.name())));
      if (const ReservationRecord* reservation = core.reservations->holder_of(record.name())) {
        record.set_reservation(reservation->name());
        record.set_maintenance(has_flag(*reservation, "MAINT"));
      }
    }
    add_partitions();
    for (const auto& [end, placement] : core.world->running().by_end())
      if (const Job* job = core.state.find(static_cast<uint32_t>(end.key))) add_holdings_of(*job);
  }

 private:
  NodeRecord* find(const std::string& name) {
    const auto place = places_.find(name);
    return place == places_.end() ? nullptr : &records_[place->second];
  }

  void add_partitions() {
    for (const PartitionRecord& partition : core_.nodes->partitions()) {
      const auto names = text::expand_hostlist(partition.nodes());
      if (!names) continue;
      for (const std::string& name : std::unordered_set<std::string>(names->begin(), names->end()))
        if (NodeRecord* record = find(name)) record->add_partitions(partition.name());
    }
  }

  // As the partition counts that bills most for it.
  void set_billing(NodeRecord& node) const {
    JobRecord whole;
    whole.set_num_cpus(node.cpus());
    whole.set_memory_mib(node.memory_mib());
    whole.set_num_nodes(1);
    *whole.mutable_tres_gres() = node.gres();
    for (const std::string& partition : node.partitions()) {
      const auto* weights = core_.nodes->billing_weights(partition);
      if (weights == nullptr) continue;
      double billing = 0;
      tres_counts(whole, weights, &billing);
      node.set_billing(std::max(node.billing(), billing));
    }
  }

  void add_holdings_of(const Job& job) {
    if (!job.details || (job.ended() && !job.completing)) return;
    for (const NodeAllocation& allocation : job.details->nodes)
      if (NodeRecord* record = find(allocation.node())) {
        add(allocation, job.state == JOB_SUSPENDED, *record);
        record->set_last_busy(std::max(record->last_busy(), job.start_time));
      }
  }

  // Suspended jobs lend their processors. When they go on, the sum may exceed the node.
  static void add(const NodeAllocation& allocation, bool suspended, NodeRecord& record) {
    if (!suspended)
      record.set_allocated_cpus(std::min(record.cpus(), record.allocated_cpus() + allocation.cpus()));
    record.set_allocated_memory_mib(record.allocated_memory_mib() + allocation.memory_mib());
    record.set_running_jobs(record.running_jobs() + (suspended ? 0 : 1));
    for (const GresAllocation& gres : allocation.gres()) {
      const bool is_consumed =
          std::none_of(record.gres().begin(), record.gres().end(), [&](const Gres& offered) {
            return offered.name() == gres.name() && is_not_consumed(offered.type()) &&
                   type_of(offered.type()) == gres.type();
          });
      if (!is_consumed) continue;
      add_gres(*record.mutable_allocated_gres(), gres.name(), gres.type(), text::units_of(gres));
      add_held(*record.mutable_held_gres(), gres);
    }
  }

  bool show_next() override {
    if (next_ == records_.size()) return false;
    set_billing(records_[next_]);
    mark_tracked(core_.config.accounting, *records_[next_].mutable_gres());
    mark_tracked(core_.config.accounting, *records_[next_].mutable_allocated_gres());
    added(records_[next_].ByteSizeLong());
    *reply<api::NodesReply>().add_nodes() = std::move(records_[next_++]);
    return true;
  }

  void clear_records() override { reply<api::NodesReply>().clear_nodes(); }

  Core& core_;
  std::vector<NodeRecord> records_;
  std::unordered_map<std::string, size_t> places_;  // by name
  size_t next_ = 0;
};

class PartitionListing final : public ListingInPieces {
 public:
  PartitionListing(Core& core, LongAnswer& answer) : ListingInPieces(answer, 1), core_(core) {
    reply<api::PartitionsReply>().set_now(core.now());
  }

 private:
  bool show_next() override {
    const auto& partitions = core_.nodes->partitions();
    if (next_ >= partitions.size()) return false;
    PartitionRecord& record = *reply<api::PartitionsReply>().add_partitions();
    record = partitions[next_++];
    if (record.preempt_mode().empty() && core_.config.preemption.enabled())
      record.set_preempt_mode(config::preempt_mode_name(core_.config.preemption.mode));
    add_totals(record);
    mark_tracked(core_.config.accounting, *record.mutable_total_gres());
    added(record.ByteSizeLong());
    return true;
  }

  void add_totals(PartitionRecord& record) const {
    const auto names = text::expand_hostlist(record.nodes());
    if (!names) return;
    const std::unordered_set<std::string> members(names->begin(), names->end());
    for (const NodeRecord& node : core_.nodes->nodes()) {
      if (!members.contains(node.name())) continue;
      record.set_total_nodes(record.total_nodes() + 1);
      record.set_total_cpus(record.total_cpus() + node.cpus());
      record.set_total_memory_mib(record.total_memory_mib() + node.memory_mib());
      for (const Gres& gres : node.gres())
        add_gres(*record.mutable_total_gres(), gres.name(), gres.type(), gres.count());
    }
  }

  void clear_records() override { reply<api::PartitionsReply>().clear_partitions(); }

  Core& core_;
  size_t next_ = 0;
};

}  // namespace

void list_nodes(Core& core, LongAnswer& answer) {
  const auto listing = std::make_shared<NodeListing>(core, answer);
  answer.keep(listing);
  listing->begin();
}

void list_partitions(Core& core, LongAnswer& answer) {
  const auto listing = std::make_shared<PartitionListing>(core, answer);
  answer.keep(listing);
  listing->begin();
}

}  // namespace minke::engine
