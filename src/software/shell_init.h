// The initial code of shells and jobs, which makes `module` work in them. Pure.
//
// `module` does nothing until its first call, which loads the user's default collection, or the standard
// environment, and then obeys.
#pragma once

#include <string>

namespace minke::software {

// `module` and `ml` alone, for where no modules have been made yet: their first call makes them.
std::string posix_functions(const std::string& minke);
std::string csh_functions(const std::string& minke);

// For sh, bash and zsh, to be sourced or evaluated.
std::string posix_init(const std::string& minke, const std::string& home);
// For csh and tcsh.
std::string csh_init(const std::string& minke, const std::string& home);

// Returns the variables of every job, one on each line: NAME=VALUE; "?" before the name keeps the user's own
// value. bash takes functions from its environment, whatever files it reads; so scripts need none.
std::string job_environment(const std::string& minke, const std::string& home);

// Returns a command for any shell but csh: puts the commands of $MINKE_HOME in front of all others on PATH.
std::string commands_in_front();

// Returns lines for BASH_ENV, which bash reads after the profile: in a job's login shell, whose profile sets
// PATH anew, the commands of the job's cluster are in front again. Other shells are left as they are.
std::string login_shell_init(const std::string& home);

}  // namespace minke::software
