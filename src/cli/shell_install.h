// minke env --install: puts the commands on PATH in every shell, permanently. A file of the home has the
// lines for shells; a guarded block in the shells' own start-up files reads it.
//
// A user's own cluster: ~/.bashrc (read by `ssh host sbatch`, too), the file that bash reads at login,
// ~/.zshenv. A shared one, by root: /etc/profile.d/minke.sh, and links in /usr/local/bin, which is on every
// PATH.
#pragma once

#include <string>

#include "base/result.h"

namespace minke::cli {

enum class ShellManner {
  kUsual,      // behind a real Slurm's commands outside of jobs
  kOverSlurm,  // in front of them, too
  kBeside,     // for a user of a real Slurm: the commands that it lacks, and no cluster of Minke's own
};

// Within a job, the commands of the cluster that runs it are always in front. Returns a line for each file
// written.
Result<std::string> install_in_shells(const std::string& home, ShellManner manner);
// Removes what the above wrote.
Result<std::string> uninstall_from_shells(const std::string& home);

}  // namespace minke::cli
