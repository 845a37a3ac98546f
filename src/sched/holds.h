// Holds: what operators' reservations keep of nodes and licenses, and when. A reservation is known here by a
// number and by the nodes (or CPUs of nodes) and licenses that it holds in [start, end), and again every
// `period` seconds. One that floats is always as far ahead: it lets short jobs in, and long ones never.
//
// What must hold, whatever runs: no request of another reservation, or of none, gets what is held for any
// moment of its run [from, end), going by its time limit; a request of the reservation gets nothing else, and
// only while it is held; where the reservation holds licenses alone, it gets nodes like everybody. Of a node
// of which some CPUs are held, `used` of them are the reservation's own jobs'. Immutable, shared by the
// copies of a Machine, which counts what is used. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sched/caps.h"
#include "sched/ids.h"

namespace minke::sched {

using HoldId = std::uint32_t;  // 0: of no reservation

struct Hold {
  HoldId id = 0;
  NodeId node = 0;
  std::uint32_t cpus = 0;    // 0: the whole node
  std::int64_t start = 0;    // s since the epoch
  std::int64_t end = 0;      // > start
  std::int64_t period = 0;   // s; 0: once
  bool floating = false;     // start and end are s from the moment that is asked about; it has no own jobs
  bool flexible = false;     // its jobs may begin earlier, and use other nodes too
  bool maintenance = false;  // for whoever asks why a job waits
};

struct LicenseHold {
  Hold when;  // whose, and when; its node and CPUs say nothing
  LicenseId license = 0;
  std::int64_t count = 0;
};

class Holds {
 public:
  explicit Holds(std::vector<Hold> holds, std::vector<LicenseHold> licenses = {});

  const std::vector<Hold>& all() const { return holds_; }
  const std::vector<LicenseHold>& licenses() const { return licenses_; }
  bool empty() const { return holds_.empty() && licenses_.empty(); }

  // Lowers `supply` of the node to what a request of reservation `own` may have in [from, end); false:
  // nothing at all. `used`: by place in all(), what the reservation's own jobs use of the CPUs. An `end` that
  // is not after `from` asks for no time in particular.
  bool limit(NodeId node, HoldId own, std::int64_t from, std::int64_t end,
             const std::vector<std::int64_t>& used, NodeSupply& supply) const;
  // How many of the license are kept from a request of reservation `own` that runs in [from, end). `used`: by
  // place in licenses(), what the reservation's own jobs use of them.
  std::int64_t withheld(LicenseId license, HoldId own, std::int64_t from, std::int64_t end,
                        const std::vector<std::int64_t>& used) const;
  // Whether its jobs may begin at `time`: it holds something then, or is flexible.
  bool is_open(HoldId id, std::int64_t time) const;
  // Whether another reservation holds anything of the node within [from, end).
  const Hold* obstacle(NodeId node, HoldId own, std::int64_t from, std::int64_t end) const;

  // Times after `now` at which a run of `duration` seconds that begins then may be allowed what one that
  // begins just before is not, or the other way round. Not of all periods to come, but of the next few.
  void add_breakpoints(std::int64_t now, std::int64_t duration, std::vector<std::int64_t>& times) const;
  // The next time after `now` at which something is held or no longer held.
  std::optional<std::int64_t> next_change(std::int64_t now) const;

  // The place in all() of the hold on that node; nothing where there is none.
  std::optional<std::size_t> find(NodeId node, HoldId id) const;

 private:
  bool has_nodes(HoldId id) const;

  std::vector<Hold> holds_;  // ascending by node
  std::vector<LicenseHold> licenses_;
};

// Whether the hold, or a repetition of it, has a moment of [from, end).
bool overlaps(const Hold& hold, std::int64_t from, std::int64_t end);

}  // namespace minke::sched
