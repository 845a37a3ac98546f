// Planner: the future of a machine within one pass, as jobs end and reservations begin and end.
//
// It finds the earliest start of a request and protects it. The result is exact with respect to the Placer:
// between the times at which reservations begin, end or come within reach, free resources only grow, so
// bisection finds the first suitable time. Internal to sched; owned by one pass.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/caps.h"
#include "sched/machine.h"
#include "sched/pass.h"
#include "sched/running_set.h"

namespace minke::sched {

class Planner {
 public:
  // Machine and running set are the pass's own and change with it. `scratch` only provides memory for a copy
  // of the machine; each planner leaves it to the next.
  Planner(const Machine& machine, const RunningSet& running, std::int64_t now,
          std::optional<Machine>& scratch)
      : machine_(machine), running_(running), now_(now), caps_(machine.layout()), future_(scratch) {}

  // Reserves the earliest start after `now`. False: there is none, or it is later than now + window_seconds
  // (0: no bound). The request must not fit now under the caps. `no_later` shortens the search: if this is
  // the first reservation, the request is known to fit at that time.
  bool reserve(EntryId entry, const Request& request, std::int64_t window_seconds,
               std::optional<std::int64_t> no_later = std::nullopt);
  // Tells the planner of a job that starts now.
  void started(const Placement& placement, std::int64_t end) { caps_.consume(placement, now_, end); }

  // Free CPUs that jobs which run beyond `first`, the begin of the first reservation, must not take.
  std::int64_t cpus_withheld(std::int64_t first) const;
  // The most CPUs that such a job may have on one node.
  std::int64_t most_node_cpus(std::int64_t first) const;

  // The most CPUs and devices (of all names) that such a job may have on that node.
  struct Left {
    std::int64_t cpus = 0;
    std::int64_t devices = 0;
  };
  Left left_beyond(NodeId node, std::int64_t first) const;

  const Caps& caps() const { return caps_; }
  const std::vector<Reservation>& reservations() const { return reservations_; }

 private:
  struct Release {
    std::int64_t time = 0;
    const Placement* placement = nullptr;
  };
  struct Booking {  // of a reservation that is active at the time in question
    std::size_t reservation = 0;
    Placement placement;
  };
  std::optional<Reservation> earliest(const Request& request, std::optional<std::int64_t> no_later);
  std::optional<Reservation> earliest_until(const Request& request, std::int64_t no_later);
  std::optional<Placement> bisect(const Request& request, std::size_t fails, Placement found);
  std::vector<std::int64_t> breakpoints(std::int64_t duration) const;
  void enter(std::int64_t time);
  bool reach(std::size_t count);
  void move_to(std::size_t count);
  std::optional<Placement> try_at(const Request& request, std::int64_t time) const;
  Placement rebind(const Placement& reserved) const;
  void protect(const Reservation& made, std::int64_t end);

  const Machine& machine_;
  const RunningSet& running_;
  const std::int64_t now_;
  Caps caps_;
  std::vector<Reservation> reservations_;
  std::vector<std::int64_t> ends_;  // of the reservations

  // State of one search: the machine after the first `released_` releases.
  std::optional<Machine>& future_;
  std::vector<Release> releases_;  // read from the running set only as far as needed
  RunningSet::Ordered::const_iterator next_release_;
  std::size_t released_ = 0;
  std::vector<Booking> active_;
};

}  // namespace minke::sched
