// minke chain: work that takes longer than one job may, in parts; and what runs inside each of them. One
// thread.
//
// The parts are runs of one batch job, which is requeued at the end of each: so the job keeps its number,
// which is how programs that save their state by themselves (PyTorch Lightning, submitit) find it again, and
// whoever requeues the job himself, as they do, does just what the chain would have done.
#pragma once

namespace minke::cli {

// argv[0] is "chain"; what follows its own options is for sbatch.
int chain_main(int argc, char** argv);

}  // namespace minke::cli
