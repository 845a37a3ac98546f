// What jobs are scheduled by is another: nodes, partitions, reservations, limits, priorities, room to store.
// engine/embedded/scheduling/nodes.h, reservations.h, accounts.h, priorities.h and shortages.h tell;
// accounts, scheduling and lifecycle listen, in this order. State's thread.
#pragma once

#include <string>

#include "engine/embedded/events.h"

namespace minke::model {
class PartitionRecord;
}  // namespace minke::model

namespace minke::engine {

struct Job;

class ClusterListener {
 public:
  virtual ~ClusterListener() = default;

  // What the machine is laid out from: nodes, partitions, reservations, licenses, broken GPUs.
  virtual void layout_changed() {}
  virtual void node_availability_changed(const std::string& /*node*/, bool /*available*/) {}
  virtual void node_down(const std::string& /*node*/) {}
  // `recount`: also its nodes, or rules by which what runs in it is counted.
  virtual void partition_changed(const model::PartitionRecord&, bool /*recount*/) {}
  // What reservations hold has changed, or begins or ends now.
  virtual void holds_changed() {}
  // The reservation that the job runs in is over.
  virtual void reservation_ended(Job&) {}
  virtual void limits_changed() {}
  virtual void priorities_changed() {}  // those that change with time, and no more
  // Nothing could be stored, so nothing was started; now it can be.
  virtual void store_works_again() {}
};

using ClusterEvents = Events<ClusterListener>;

}  // namespace minke::engine
