// Planner: the future of a machine within one pass: what runs ends, what is reserved begins and ends.
//
// It finds the earliest start of a request and protects it. Exact with respect to the Placer: between the
// times at which reservations begin, end, or come within reach, what is free only grows, so that the first
// time that will do is found by bisection. Internal to sched; owned by one pass.
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
  // Machine and running set are the pass's own, as they change. `scratch` has nothing that is needed: it is
  // room for a copy of the machine, which a planner leaves to the next one.
  Planner(const Machine& machine, const RunningSet& running, std::int64_t now,
          std::optional<Machine>& scratch)
      : machine_(machine), running_(running), now_(now), caps_(machine.layout()), future_(scratch) {}

  // Reserves the earliest start after `now`, unless it is later than now + window_seconds (0: no bound) or
  // there is none. The request must not fit now, under the caps. `no_later`, if given, is a time at which it
  // is known to fit, where it is the first to get a reservation; it makes the search shorter.
  bool reserve(EntryId entry, const Request& request, std::int64_t window_seconds,
               std::optional<std::int64_t> no_later = std::nullopt);
  // Tells it of a job that starts now.
  void started(const Placement& placement, std::int64_t end) { caps_.consume(placement, now_, end); }

  // Free CPUs that jobs which run beyond the begin of the first reservation, `first`, may not have.
  std::int64_t cpus_withheld(std::int64_t first) const;
  // The most CPUs that such a job may have on one node.
  std::int64_t most_node_cpus(std::int64_t first) const;

  // CPUs and devices (of all names) that such a job may have on that node at the most.
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
  struct Booking {  // of a reservation that is active at the time under consideration
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

  // The scratch pad of one search: the machine after the first `released_` releases.
  std::optional<Machine>& future_;
  std::vector<Release> releases_;  // as far as anybody looked
  RunningSet::Ordered::const_iterator next_release_;
  std::size_t released_ = 0;
  std::vector<Booking> active_;
};

}  // namespace minke::sched
