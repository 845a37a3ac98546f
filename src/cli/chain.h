// minke chain: work that takes longer than one job may, in parts; and the program inside each
// of them. One thread.
//
// The parts are runs of one batch job, which is requeued at the end of each. So the job keeps its number, by
// which programs that save their state themselves (PyTorch Lightning, submitit) find it again; and a program
// that requeues the job, as these do, does just what the chain would have done.
#pragma once

#include <string_view>

namespace minke::cli {

// What --help prints.
std::string_view chain_usage();

// argv[0] is "chain"; the words behind its own options are for sbatch.
int chain_main(int argc, char** argv);

}  // namespace minke::cli
