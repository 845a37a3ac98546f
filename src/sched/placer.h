// Placer: finds the nodes for one request. Used by Machine::place() and the pass; internal to sched.
//
// Rules: a node can host some tasks and some of the job-wide GRES (--gpus). Each chosen node gets at least
// one of each that the job asks for. The fewest nodes that suffice are taken (or as many as a range allows);
// among sets of that size, the first by rank. Exact except in one case: a bound on nodes together with both
// --ntasks and --gpus is a two-dimensional packing problem, for which three greedy orders are tried.
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

// Places the request and all its companions together on what is free, with the licenses that they ask for.
// `caps`, if given, apply to a job that runs in [from, end). `resume`: the first_rank of Placer::select(),
// for a request without companions; it is updated for the next call.
std::optional<Placement> place_together(const Machine& machine, const Request& request, const Caps* caps,
                                        std::int64_t from, std::int64_t end, std::uint32_t* resume = nullptr);

class Placer {
 public:
  // `caps`, if given, apply to a job that runs in [from, end).
  Placer(const Machine& machine, View view, const Caps* caps = nullptr, std::int64_t from = 0,
         std::int64_t end = 0);

  // `first_rank`: no node of a lower rank can host the whole request alone (0: nothing is known).
  bool select(const Request& request, std::uint32_t first_rank = 0);
  // Call it after a successful select() on View::kFree.
  Placement placement() const;
  // The rank of the single chosen node, else 0. It is a valid next first_rank while nothing is freed.
  // 0 as well where the least loaded node was chosen: a node before it may be the next one.
  std::uint32_t resume_rank() const {
    const bool by_rank = request_ == nullptr || !request_->least_loaded;
    return chosen_.size() == 1 && by_rank ? chosen_.front().rank : 0;
  }

  // Computes the most tasks and job-wide GRES that one node can host, up to the request; false if none.
  struct Capacity {
    std::uint32_t rank = 0;
    std::uint32_t tasks = 0;
    std::uint32_t job_gres = 0;
  };
  bool capacity(NodeId node, const Request& request, Capacity& result) const;
  // One word of the set of ranks that partition and constraint allow. On View::kFree it omits most nodes with
  // fewer free CPUs or fewer free devices.
  std::uint64_t suitable_word(const Request& request, std::size_t word, std::uint64_t cpus = 1,
                              std::uint64_t devices = 0) const;

  static constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

 private:
  bool load(NodeId node, const Request& request, NodeSupply& supply) const;
  bool fits(const Request& request, const LayoutNode& node, const NodeSupply& supply, std::uint64_t tasks,
            std::uint64_t job_gres) const;
  bool require_counted();
  std::vector<std::uint32_t> counts_to_try(const Request& request) const;
  bool select_counts();
  bool select_contiguous();
  bool select_case(const Request& request, std::uint32_t first_rank);
  bool select_one(std::uint32_t first_rank);
  bool select_several();
  bool gather_candidates();
  bool less_loaded(std::uint32_t rank, std::uint32_t other) const;  // for LLN
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
  std::optional<Request> chosen_case_;  // if the request has cases: it, with the chosen case's features
  std::uint32_t tasks_on_each_ = 0;     // if the request has no total of tasks
  std::uint32_t job_gres_ = 0;          // the one demand with per_job; 0: none
  std::vector<Capacity> required_;      // the nodes that must be taken, by rank
  std::vector<Capacity> candidates_;    // the other nodes, by rank
  std::vector<Capacity> chosen_;        // by rank
};

}  // namespace minke::sched
