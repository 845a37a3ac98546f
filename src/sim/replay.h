// Replays: a trace's jobs are submitted, start as a policy decides, and end after their run times.
//
// FCFS and EASY run the scheduler's own pass (sched/pass.h), on a machine of one node with so many
// processors, or on the nodes of a configuration. Conservative backfill over processors runs
// sched/conservative.h; over nodes, the pass with a reservation for every job. The same inputs give the same
// result, bit for bit. Pure.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sched/machine.h"
#include "sched/request.h"
#include "sim/trace.h"

namespace minke::sim {

enum class Policy : std::uint8_t { kFcfs, kEasy, kEasySjbf, kConservative };
std::optional<Policy> policy_of(std::string_view word);  // fcfs, easy, easy-sjbf, conservative

// The order of events within one second, and of the scheduler's passes.
enum class Rules : std::uint8_t {
  // Those of the published studies: submissions before ends, one at a time, with a pass at each; at a
  // submission only if the free processors suffice for that job; a job whose time limit is reached
  // now counts as ended.
  kStudy,
  // Those of the daemon: ends before submissions, and one pass after all of them.
  kDaemon,
};

class Forecaster;   // sim/score.h
class Limits;       // sim/limits.h
class Multifactor;  // sim/multifactor.h
class Preempting;   // sim/preempting.h

inline constexpr std::int64_t kNeverStarted = -1;

struct Replay {
  std::vector<std::int64_t> starts;    // by job, s; kNeverStarted: the machine is too small for it
  std::uint64_t preempted = 0;         // how often a job was preempted; its start is the last one
  std::vector<std::int64_t> promised;  // conservative over processors: the start planned at submission
  std::uint64_t passes = 0;
  std::uint64_t moves = 0;  // of planned starts, to earlier times
};

// One pool of processors. Conservative always follows the rules of the studies. `forecaster`, if
// given, forecasts each job at its submission; not with conservative. `moved`, if not empty, has the
// same jobs: those that follow others are submitted when these have ended, and their `submit` is
// then set to that time. `submitted`, if given, counts submissions, for another thread to read.
Replay replay_processors(std::span<const TraceJob> jobs, std::uint32_t processors, Policy policy, Rules rules,
                         Forecaster* forecaster = nullptr, std::span<TraceJob> moved = {},
                         std::atomic<std::uint64_t>* submitted = nullptr);

// `requests[request_of[i]]` is job i's; kNoRequest leaves the job out. `priorities`, if given, order
// the queue; else submissions do. `limits`, if given, delay jobs or refuse them; `preempting` lets
// jobs preempt others.
inline constexpr std::uint32_t kNoRequest = 0xffffffff;
Replay replay_placed(std::span<const TraceJob> jobs, std::span<const std::uint32_t> request_of,
                     std::span<const sched::Request> requests, const sched::Machine& machine, Policy policy,
                     Forecaster* forecaster = nullptr, Multifactor* priorities = nullptr,
                     Limits* limits = nullptr, const Preempting* preempting = nullptr,
                     std::span<TraceJob> moved = {}, std::atomic<std::uint64_t>* submitted = nullptr);

}  // namespace minke::sim
