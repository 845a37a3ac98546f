// Commands about Minke's own daemon and its files (up, log, backup, accounting, doctor --repair), where the
// cluster that is meant is a Slurm's: they would make a second cluster there, which is meant from then on.
// Blocking; one thread.
#pragma once

namespace minke::cli {

// Whether Minke's own cluster is meant. Prints what is, and what to do, before false.
bool means_own_cluster();

}  // namespace minke::cli
