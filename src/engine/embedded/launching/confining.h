// What holds the processes of a job to what it has: the part of a launcher's order that a batch script and a
// step have in common; and how a job's GPUs are named to it. State's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/configuration.h"
#include "engine/embedded/state/job.h"
#include "environment/job_environment.h"

namespace minke::model {
class GpuDevice;
}  // namespace minke::model

namespace minke::node {
class LaunchOrder;
}  // namespace minke::node

namespace minke::engine {

struct Core;

// Whether its partition has no network.
bool is_offline(const Core& core, const Job& job);

// Temporary directory, identity, memory, processes, CPUs, devices and network of the job.
void confine(const Core& core, const Job& job, node::LaunchOrder& order);

// How a program is told these GPUs of the job on the node: CUDA_VISIBLE_DEVICES and GPU_DEVICE_ORDINAL, for
// AMD's ROCR_VISIBLE_DEVICES. Numbers; of real GPUs those that the driver counts, from 0 where the job can
// open no others; UUIDs for parts of GPUs, which have no numbers.
environment::GpuVariables gpu_variables(const Core& core, const Job& job, const std::string& node,
                                        const std::vector<uint32_t>& indices);

// The node's name, for a place of the order; empty: it is the machine's own.
std::string host_name_of(const Core& core, const std::string& node);

// Writes what jobs find as /etc/hosts: the machine's, and each virtual node's name as this machine's. Returns
// its path; empty: nothing differs.
Result<std::string> write_hosts(const config::Configuration& config);

// The job's real GPUs on all its nodes, in the order of its allocation.
std::vector<model::GpuDevice> gpu_devices_of(const Core& core, const Job& job);

}  // namespace minke::engine
