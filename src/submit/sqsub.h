// Turns SHARCNET's sqsub into a batch script and sbatch options: `sqsub -r 1d -o log -q mpi ./prog args`.
//
//   -r TIME     time limit: minutes, or with m, h, d   -q QUEUE  serial, threaded, mpi, gpu, or a project's
//   -o FILE     output; %J is the job id               -f FLAG   mpi, threaded, serial; else a node's feature
//   -e, -i FILE errors (else in the output), input     -n N      processes (mpi), else processors
//   -j NAME     name                                   -N N      nodes
//   -w ID,ID    wait for the end of these jobs         --mpp=SIZE, --gpp=N  memory, GPUs for each process
//   --nompirun  start the program itself, not mpirun   -h        help
// -r and -o must be given. Pure; may be called from any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace minke::submit {

struct Sqsub {
  bool show_help = false;
  std::vector<std::string> arguments;  // of sbatch; the program and its arguments at the end
  std::string script;                  // which gets the program's arguments
};

// Fails with a line to print behind "sqsub: ".
Result<Sqsub> translate_sqsub(std::span<const std::string> arguments);

std::string_view sqsub_usage();

// Returns the queue that a job was sent to: sqsub keeps it in the job's "extra" text. Empty for other jobs.
std::string_view sqsub_queue(std::string_view extra);

}  // namespace minke::submit
