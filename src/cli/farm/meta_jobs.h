// The jobs of a META farm, as the cluster knows them. One thread; blocking.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/job_filter.pb.h"
#include "base/result.h"
#include "cli/farm/meta_directory.h"
#include "engine/engine.h"

namespace minke::cli {

struct MetaStates {
  uint64_t queued = 0, running = 0, ended = 0;  // jobs of the farm, without the one behind it
  struct Row {
    std::string id, state;
  };
  std::vector<Row> rows;  // with it
};
Result<MetaStates> states_of(engine::Engine& cluster, const MetaRun& run);

// Selects all jobs of the run; the one behind it, too.
api::JobFilter jobs_of(const MetaRun& run);

void remove_tree(const std::string& path);

}  // namespace minke::cli
