// ClusterListener: events about what jobs are scheduled by: nodes, partitions, reservations, limits,
// priorities and the ability to store. Nodes, Reservations, Accounts, Priorities and Shortages send them.
// PastEvents, Accounts, Scheduling and Lifecycle listen, in this order. State's thread.
#pragma once

#include <string>

#include "engine/embedded/events.h"

namespace minke::model {
class NodeRecord;
class PartitionRecord;
}  // namespace minke::model

namespace minke::engine {

struct Job;

class ClusterListener {
 public:
  virtual ~ClusterListener() = default;

  // The machine's layout has changed: nodes, partitions, reservations, licenses, broken GPUs.
  virtual void layout_changed() {}
  virtual void node_changed(const model::NodeRecord& /*node*/) {}
  virtual void node_availability_changed(const std::string& /*node*/, bool /*available*/) {}
  virtual void node_down(const std::string& /*node*/) {}
  // `recount`: also its nodes changed, or rules by which its running jobs are counted.
  virtual void partition_changed(const model::PartitionRecord&, bool /*recount*/) {}
  // What reservations hold has changed, or a hold begins or ends now.
  virtual void holds_changed() {}
  // The reservation of this running job is over.
  virtual void reservation_ended(Job&) {}
  virtual void limits_changed() {}
  virtual void priorities_changed() {}  // only the parts that change with time
  // The store works again after a failure during which nothing was started.
  virtual void store_works_again() {}
};

using ClusterEvents = Events<ClusterListener>;

}  // namespace minke::engine
