// Placer: finds the nodes for one request. Machine::place() and the pass are its users; internal to sched.
//
// Rules: a node can host some tasks and some job-wide GRES (--gpus); each chosen node gets at least one of
// each that is asked for. The fewest nodes that suffice are taken (or as many as a range allows); of the
// sets of that size the one that is first by rank. Exact, but for one case: an upper bound on nodes together
// with both --ntasks and --gpus is a two-dimensional packing, where three greedy orders are tried.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "sched/caps.h"
#include "sched/constraint.h"
#include "sched/machine.h"

namespace minke::sched {

enum class View : std::uint8_t {
  kFree,           // what is free now
  kIdleAvailable,  // everything on the nodes that are available now
  kIdle,           // everything on all nodes
};

// A place on what is free for the request and all its companions together, with as many licenses as they ask
// for; `caps`, if given, hold for a job that runs in [from, end). `resume`: as Placer::select() has it, for a
// request without companions; it is set for the next time.
std::optional<Placement> place_together(const Machine& machine, const Request& request, const Caps* caps,
                                        std::int64_t from, std::int64_t end, std::uint32_t* resume = nullptr);

class Placer {
 public:
  // `caps`, if given, hold for a job that runs in [from, end).
  Placer(const Machine& machine, View view, const Caps* caps = nullptr, std::int64_t from = 0,
         std::int64_t end = 0);

  // `first_rank`: no node below it can host the whole request by itself (0 where nothing is known).
  bool select(const Request& request, std::uint32_t first_rank = 0);
  // After a successful select() on View::kFree.
  Placement placement() const;
  // The single node's rank; where there are several, 0. Serves as the next first_rank while nothing is freed.
  std::uint32_t resume_rank() const { return chosen_.size() == 1 ? chosen_.front().rank : 0; }

  // For one node: the most tasks and job-wide GRES it can host, clipped to the request; false if none.
  struct Capacity {
    std::uint32_t rank = 0;
    std::uint32_t tasks = 0;
    std::uint32_t job_gres = 0;
  };
  bool capacity(NodeId node, const Request& request, Capacity& result) const;
  // The set of ranks that partition and constraint leave, word by word; on View::kFree without most of those
  // that have fewer free CPUs, or fewer free devices.
  std::uint64_t suitable_word(const Request& request, std::size_t word, std::uint64_t cpus = 1,
                              std::uint64_t devices = 0) const;

  static constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

 private:
  bool load(NodeId node, const Request& request, NodeSupply& supply) const;
  bool fits(const Request& request, const LayoutNode& node, const NodeSupply& supply, std::uint64_t tasks,
            std::uint64_t job_gres) const;
  bool require_counted();
  bool select_contiguous();
  bool select_case(const Request& request, std::uint32_t first_rank);
  bool select_one(std::uint32_t first_rank);
  bool select_several();
  bool gather_candidates();
  bool choose(std::uint32_t least, std::uint32_t most);
  bool choose_by_one_sum(std::uint32_t least, std::uint32_t most, std::uint32_t Capacity::*value,
                         std::uint64_t needed);
  bool choose_by_two_sums(std::uint32_t least, std::uint32_t most);
  std::vector<std::uint32_t> dealt_out() const;
  NodeShare share(const Capacity& node, std::uint32_t tasks, std::uint32_t job_gres) const;
  void pick_devices(NodeId node, std::uint32_t tasks, std::uint32_t job_gres, NodeShare& result) const;

  const Machine& machine_;
  const MachineLayout& layout_;
  const View view_;
  const Caps* const caps_;
  const std::int64_t from_;
  const std::int64_t end_;
  const Request* request_ = nullptr;
  std::optional<Request> chosen_case_;  // where the request has cases: it, with the features of that case
  std::uint32_t tasks_on_each_ = 0;     // where the request has no total of tasks
  std::uint32_t job_gres_ = 0;          // the one demand with per_job; 0: none
  std::vector<Capacity> required_;      // of the nodes that must be taken, by rank
  std::vector<Capacity> candidates_;    // of the others, by rank
  std::vector<Capacity> chosen_;        // by rank
};

}  // namespace minke::sched
