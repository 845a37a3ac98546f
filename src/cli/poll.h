// minke poll: asks a real Slurm for all users of a machine (engine/slurm/polling.cpp).
#pragma once

namespace minke::cli {

struct PollCommand {
  bool print_unit = false, once = false;
};

int poll_cluster(const PollCommand& command);

}  // namespace minke::cli
