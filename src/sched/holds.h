// Holds: which nodes and licenses operators' reservations hold, and when. Here a reservation is a number with
// the nodes (or CPUs of nodes) and licenses that it holds in [start, end), and again every `period` seconds.
// A floating reservation is always equally far ahead: it admits short jobs and never long ones.
//
// Invariants: a request of another reservation, or of none, gets nothing that is held at any moment of its
// run [from, end) by its time limit. A request of the reservation gets only what is held, and only while it
// is held. If the reservation holds licenses alone, its requests get nodes like any other. If only some CPUs
// of a node are held, the reservation's own jobs use `used` of them. Immutable; copies of a Machine share it,
// and each counts what is used. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sched/caps.h"
#include "sched/ids.h"

namespace minke::sched {

using HoldId = std::uint32_t;  // 0: of no reservation

// So many units of a GRES: a reservation's own jobs have no more of them.
struct HeldGres {
  GresNameId name = 0;
  GresKindId kind = kAnyKind;
  std::int64_t count = 0;
  bool counts(GresNameId other, GresKindId its) const {
    return other == name && (kind == kAnyKind || its == kind);
  }
};

struct Hold {
  HoldId id = 0;
  NodeId node = 0;
  std::uint32_t cpus = 0;           // 0: the whole node
  std::vector<HeldGres> gres = {};  // what is not here is not counted
  std::int64_t start = 0;           // s since the epoch
  std::int64_t end = 0;             // > start
  std::int64_t period = 0;          // s; 0: once
  bool floating = false;            // start and end are s from the moment asked about; no jobs of its own
  bool flexible = false;            // its jobs may begin earlier, and use other nodes too
  bool maintenance = false;         // used to explain why a job waits
};

// What a reservation's own jobs use of a hold.
struct HoldUse {
  std::int64_t cpus = 0;
  std::vector<std::int64_t> gres = {};  // as in the hold
  bool operator==(const HoldUse&) const = default;
};

struct LicenseHold {
  Hold when;  // the reservation and its times; ignore node and CPUs
  LicenseId license = 0;
  std::int64_t count = 0;
};

class Holds {
 public:
  explicit Holds(std::vector<Hold> holds, std::vector<LicenseHold> licenses = {});

  const std::vector<Hold>& all() const { return holds_; }
  const std::vector<LicenseHold>& licenses() const { return licenses_; }
  bool empty() const { return holds_.empty() && licenses_.empty(); }

  // Lowers `supply` of the node, which offers `pools`, to what a request of reservation `own` may have in
  // [from, end). False: nothing at all. `used` is indexed like all(). If `end` is not after `from`, no
  // particular time is asked about.
  bool limit(NodeId node, std::span<const GresPool> pools, HoldId own, std::int64_t from, std::int64_t end,
             const std::vector<HoldUse>& used, NodeSupply& supply) const;
  // How many of the license a request of reservation `own` that runs in [from, end) may not have. `used`:
  // licenses that the reservation's own jobs use, indexed like licenses().
  std::int64_t withheld(LicenseId license, HoldId own, std::int64_t from, std::int64_t end,
                        const std::vector<std::int64_t>& used) const;
  // Whether jobs of the reservation may begin at `time`: it holds something then, or is flexible.
  bool is_open(HoldId id, std::int64_t time) const;
  // The hold of another reservation on the node within [from, end); null: there is none.
  const Hold* obstacle(NodeId node, HoldId own, std::int64_t from, std::int64_t end) const;

  // Adds the times after `now` at which what a run of `duration` seconds may use changes with its begin.
  // Covers only the next few periods of a recurring hold.
  void add_breakpoints(std::int64_t now, std::int64_t duration, std::vector<std::int64_t>& times) const;
  // The next time after `now` at which a hold begins or ends.
  std::optional<std::int64_t> next_change(std::int64_t now) const;

  // The index in all() of this reservation's hold on the node; nothing if there is none.
  std::optional<std::size_t> find(NodeId node, HoldId id) const;

 private:
  bool has_nodes(HoldId id) const;

  std::vector<Hold> holds_;  // ascending by node
  std::vector<LicenseHold> licenses_;
};

// Whether the hold, or a repetition of it, overlaps [from, end).
bool overlaps(const Hold& hold, std::int64_t from, std::int64_t end);

}  // namespace minke::sched
