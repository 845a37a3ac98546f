// Confines the processes of a job to its resources: the part of a launch order that batch scripts and steps
// share. It also chooses the names by which a job sees its GPUs. State's thread.
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

// Whether the job's partition has no network.
bool is_offline(const Core& core, const Job& job);

// Fills in temporary directory, identity, memory, processes, CPUs, devices and network of the job.
void confine(const Core& core, const Job& job, node::LaunchOrder& order);

// The variables that tell a program its GPUs on the node: CUDA_VISIBLE_DEVICES and GPU_DEVICE_ORDINAL, for
// AMD ROCR_VISIBLE_DEVICES. Real GPUs have the driver's numbers, or numbers from 0 if the job cannot open
// other GPUs. Parts of GPUs have no numbers, so their UUIDs are used.
environment::GpuVariables gpu_variables(const Core& core, const Job& job, const std::string& node,
                                        const std::vector<uint32_t>& indices);

// The node's host name for a place of the order; empty: the machine's own name.
std::string host_name_of(const Core& core, const std::string& node);

// Writes the /etc/hosts of jobs: the machine's, plus the name of each virtual node as this machine. Returns
// its path; empty: jobs use the machine's file.
Result<std::string> write_hosts(const config::Configuration& config);

// The job's real GPUs on all its nodes, in the order of its allocation.
std::vector<model::GpuDevice> gpu_devices_of(const Core& core, const Job& job);

}  // namespace minke::engine
