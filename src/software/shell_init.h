// What shells and jobs begin with, so that `module` works in them. Pure.
//
// `module` starts nothing until it is called for the first time: that loads the user's default collection, or
// the standard environment, and then does what was asked.
#pragma once

#include <string>

namespace minke::software {

// For sh, bash and zsh, to be sourced or evaluated.
std::string posix_init(const std::string& minke, const std::string& home);
// For csh and tcsh.
std::string csh_init(const std::string& minke, const std::string& home);

// Variables of every job, a line each: NAME=VALUE; with "?" before the name where the user's own is kept.
// bash takes functions from its environment, whatever files it reads; so scripts need none.
std::string job_environment(const std::string& minke, const std::string& home);

// A command for any shell but csh: puts the commands of $MINKE_HOME in front of all others on PATH.
std::string commands_in_front();

}  // namespace minke::software
