// sacctmgr dump and load: the accounts of a cluster as a text file, in Slurm's format.
#pragma once

#include <span>

#include "cli/sacctmgr/session.h"

namespace minke::cli {

// [CLUSTER] [file=PATH]; the default is CLUSTER.cfg. Returns the exit status.
int dump_accounts(AccountingSession& session, std::span<char* const> words);
// [file=]PATH. Adds what only the file has, and changes what both have; with `clean` it
// first removes the rest.
int load_accounts(AccountingSession& session, std::span<char* const> words);

}  // namespace minke::cli
