// `minke task` precedes a step's program if something is to be done just before or after it: the MPI
// library's variables, --cpu-bind, --mem-bind, --task-prolog, --task-epilog. Without an epilog it executes
// the program in its own place, so that it costs one exec.
#pragma once

#include <string>
#include <vector>

namespace minke::helpers {

struct TaskOptions {
  std::string mpi_address;  // mpi::Server's; empty: none
  std::string cpu_bind;     // as given; empty: none
  std::string mem_bind;     // as given; empty: none
  std::string system;       // "task" or "script": runs the cluster's own prolog and epilog
  std::string prolog, epilog;
  std::vector<std::string> variables;  // NAME=VALUE that override the step's own
  bool stopped = false;                // the program waits, stopped, for a debugger
  bool tells_gpus = false;             // --gpu-bind=verbose: prints what the daemon says of its GPUs

  bool needed() const {
    return !mpi_address.empty() || !cpu_bind.empty() || !mem_bind.empty() || !prolog.empty() ||
           !epilog.empty() || !variables.empty() || stopped || tells_gpus;
  }
};

// The variable by which the daemon tells such a task its GPUs; it is not passed on.
inline constexpr char kGpuBindVariable[] = "MINKE_GPU_BIND";

// Returns the words in front of a task's own arguments that do so. Errors of /proc leave it empty.
std::vector<std::string> task_command(const TaskOptions& options);

}  // namespace minke::helpers
