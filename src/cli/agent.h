// minke agent: measures Slurm's jobs on a node (engine/slurm/agent.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace minke::cli {

struct AgentCommand {
  std::string address, munge_socket, gpu_library;
  uint16_t port = 0;
  uint32_t seconds = 10, collect_seconds = 60;
  std::vector<std::string> sees_all;  // users
  bool print_unit = false;
  bool collect = false;
  std::string directory;  // what is collected
};

int agent(const AgentCommand& command);

}  // namespace minke::cli
