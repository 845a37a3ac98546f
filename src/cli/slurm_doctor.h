// minke doctor where a real Slurm is meant: which one, by what it was found, and who of it answers.
#pragma once

#include <vector>

namespace minke::cli {

struct Finding;

// False: Minke's own cluster is meant, and nothing was looked at.
bool check_slurm(std::vector<Finding>& findings);

}  // namespace minke::cli
