// A cluster whose scheduling the tests of the pass run through time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sched/pass.h"
#include "sched/test_cluster.h"

namespace minke::sched::testing {

struct Start {
  EntryId entry = 0;
  std::int64_t time = 0;
  Placement placement;
  bool operator==(const Start&) const = default;
};

struct PassFixture {
  explicit PassFixture(Machine m) : machine(std::move(m)) {}

  PassResult pass(std::int64_t now, const PassOptions& options = {}) {
    return run_pass(machine, queue, running, now, options,
                    [&](EntryId entry, const Placement& placement, std::int64_t) {
                      starts.push_back({entry, now, placement});
                      return ++last_key;
                    });
  }
  void end(RunKey key) { machine.release(running.remove(key).value()); }

  Machine machine;
  PendingQueue queue;
  RunningSet running;
  std::vector<Start> starts;
  RunKey last_key = 0;
};

inline Request small_job(std::uint32_t cpus, std::uint32_t minutes, std::uint32_t nodes = 1) {
  Request request;
  request.cpus_per_task = cpus;
  request.time_limit_minutes = minutes;
  request.min_nodes = request.max_nodes = nodes;
  return request;
}

}  // namespace minke::sched::testing
