// Asks the agents on nodes (engine/slurm/agent.h), many at once, each for a few seconds at most. Blocking;
// any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/measurements.pb.h"
#include "base/result.h"
#include "engine/slurm/measured_jobs.h"
#include "engine/slurm/munge.h"

namespace minke::engine::slurm {

struct AgentQuestion {
  std::vector<std::string> addresses;
  uint16_t port = 0;
  std::vector<uint32_t> trusted;  // users whose agents are believed
  bool with_series = false;
  AskedJobs asked = {};
  std::vector<AskedJobs> each = {};  // of each address its own, in place of `asked`
};

// One answer for each address, in their order.
std::vector<Result<api::MeasurementsReply>> ask_agents(const AgentQuestion& question, const Munge& munge);

}  // namespace minke::engine::slurm
