// `minke task`, which stands in front of a step's program where something is to be done just before it, or
// just after: the MPI library's variables, --cpu-bind, --mem-bind, --task-prolog, --task-epilog. Where there
// is no epilog it executes the program in its own place, so that it costs one exec.
#pragma once

#include <string>
#include <vector>

namespace minke::helpers {

struct TaskOptions {
  std::string mpi_address;  // mpi::Server's; empty: none
  std::string cpu_bind;     // as given; empty: none
  std::string mem_bind;     // as given; empty: none
  std::string system;       // "task" or "script": prolog and epilog are the cluster's own
  std::string prolog, epilog;
  std::vector<std::string> variables;  // NAME=VALUE that win over the step's own
  bool stopped = false;                // the program waits, stopped, for a debugger
  bool tells_gpus = false;             // --gpu-bind=verbose: what the daemon says of its GPUs is printed

  bool needed() const {
    return !mpi_address.empty() || !cpu_bind.empty() || !mem_bind.empty() || !prolog.empty() ||
           !epilog.empty() || !variables.empty() || stopped || tells_gpus;
  }
};

// The variable by which the daemon tells such a task what it has; it is not passed on.
inline constexpr char kGpuBindVariable[] = "MINKE_GPU_BIND";

// What goes in front of a task's own arguments to have that done. Errors of /proc leave it empty.
std::vector<std::string> task_command(const TaskOptions& options);

}  // namespace minke::helpers
