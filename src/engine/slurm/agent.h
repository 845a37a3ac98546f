// minke agent: a service on each node of a Slurm cluster. It measures the jobs there every some seconds,
// keeps a bounded series of each, and answers who asks over TCP (engine/slurm/agent_wire.h): a user about his
// own jobs, root and those named about all. It changes nothing. The head's also collects what the others have
// measured of jobs that have ended (engine/slurm/collecting.h), and answers about those.
//
// One thread measures and takes connections; each connection is served by a thread of its own, of which there
// are few, and which ends after some seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "node/nvml.h"

namespace minke::engine::slurm {

class SlurmEngine;

struct AgentOptions {
  std::string address;  // to listen at; empty: all
  uint16_t port = 0;    // 0: a free one, which is printed
  std::string munge_socket;
  std::chrono::seconds period{10};
  std::vector<uint32_t> sees_all;  // users, beside root
  node::GpuOptions gpus;
  SlurmEngine* cluster = nullptr;  // of all its nodes what jobs have used is collected here; null: it is not
  std::string directory;           // which keeps that
  std::chrono::seconds collect_period{60};
};

// Until the process is ended. Returns an exit code.
int run_agent(const AgentOptions& options);

}  // namespace minke::engine::slurm
