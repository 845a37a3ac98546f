// Lines of a job script that look like #SBATCH lines and have no effect: what sbatch warns of. Pure; any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace minke::submit {

// Returns warnings for stderr, three at most and how many more there are: "warning: job.sh line 4: …". Found
// are
// "# SBATCH", "##SBATCH" and other spellings above the first command, with an option behind them, and
// "#SBATCH" below it, outside of here documents.
std::vector<std::string> dead_directives(std::string_view script, std::string_view name);

}  // namespace minke::submit
