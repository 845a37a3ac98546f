// [cluster] of minke.toml: which engine serves whoever reads it, Minke's own or a Slurm that is there. Read
// by every command before it knows of a daemon. Blocking; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace minke::config {

class Table;

enum class ClusterEngine { kUnsaid, kEmbedded, kSlurm };

struct ClusterChoice {
  ClusterEngine engine = ClusterEngine::kUnsaid;
  std::string name;              // of several clusters of one Slurm's: -M; empty: its own
  std::string rest;              // where its slurmrestd listens: a path, or HOST:PORT; empty: it is not asked
  uint32_t period_seconds = 30;  // for how long an answer of slurmctld's does
  uint16_t agent_port = 6829;    // of minke agent on its nodes; 0: they are not asked
};

// "embedded" or "slurm".
Result<ClusterEngine> parse_cluster_engine(const std::string& word);
void read_cluster_choice(Table& table, ClusterChoice& choice);
// Of a file; nothing is said where there is none, or it is broken: who starts a daemon says so.
ClusterChoice load_cluster_choice(const std::string& path);

}  // namespace minke::config
