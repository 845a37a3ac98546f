// The results of a replay: waits, slowdowns, use of the machine; in all, and by user, group,
// account or partition.
//
// Bounded slowdown: (wait + run) / max(run, 10 s), at least 1. Utilisation: the used part of the
// processor-seconds from the first submission to the last end. Jobs that never started are left out. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/trace.h"

namespace minke::sim {

struct Figures {
  std::uint64_t jobs = 0;
  double mean_wait = 0;  // s
  std::int64_t median_wait = 0;
  std::int64_t longest_wait = 0;
  double mean_bounded_slowdown = 0;
  double processor_seconds = 0;
};

struct Summary {
  Figures all;
  std::uint64_t never_started = 0;
  std::int64_t makespan = 0;  // s, from the first submission to the last end
  double utilisation = 0;     // 0 to 1
};

// `processors` > 0.
Summary summarize(std::span<const TraceJob> jobs, std::span<const std::int64_t> starts,
                  std::uint64_t processors);

struct GroupFigures {
  std::uint32_t name = 0;  // number in the trace's names
  Figures figures;
};
// Those with the most processor-seconds first. `member`: &TraceJob::user and the like.
std::vector<GroupFigures> summarize_by(std::span<const TraceJob> jobs, std::span<const std::int64_t> starts,
                                       std::uint32_t TraceJob::*member);

// Means over `bins` equal stretches of the time from the first submission to the last end.
struct Timeline {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::vector<double> running;  // processors
  std::vector<double> waiting;  // jobs
};
Timeline timeline(std::span<const TraceJob> jobs, std::span<const std::int64_t> starts, std::uint32_t bins);

}  // namespace minke::sim
