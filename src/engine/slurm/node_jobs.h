// Slurm's jobs on this node, and what they use: from the control groups that slurmd made for them (version 2,
// or 1 with its memory controller), else from the processes that descend from slurmstepd.
//
// Only a slurmstepd of root's or of this process's user is believed: a process can give itself any name.
// Which GPUs and how many CPUs a job has, its environment says; a user who lies there sees how busy GPUs and
// CPUs of others on that node are, no more. Reads only. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "node/job_sampler.h"

namespace minke::engine::slurm {

struct NodeJob {
  uint32_t job_id = 0;
  std::optional<uint32_t> uid;  // none: not known; nobody but root may see it
  node::JobUse use;
  std::vector<uint32_t> gpus;  // by their numbers on this node
  size_t cpus = 0;             // that it has here; 0: not known
};

class NodeJobs {
 public:
  // `root`: in front of /sys/fs/cgroup, for tests.
  explicit NodeJobs(std::string root = "") : root_(std::move(root)) {}

  std::vector<NodeJob> read() const;

 private:
  std::string root_;
};

// The job of a slurmstepd called so: "slurmstepd: [123.batch]", "slurmstepd: [123.0]"; none: it is of no job,
// or of the step that holds the job (extern), whose process is not the user's.
std::optional<uint32_t> job_of_stepd(const std::string& title);
// "0,2-3": numbers of GPUs.
std::vector<uint32_t> gpu_numbers(const std::string& list);

}  // namespace minke::engine::slurm
