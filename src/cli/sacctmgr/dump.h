// sacctmgr dump and load: the accounts of a cluster as a text file, in Slurm's format.
#pragma once

#include <span>

#include "cli/sacctmgr/session.h"

namespace minke::cli {

// [CLUSTER] [file=PATH], CLUSTER.cfg where none is named. The exit status.
int dump_accounts(AccountingSession& session, std::span<char* const> words);
// [file=]PATH. What the file has and the book has not is added, what both have is changed; with `clean` the
// rest is removed first.
int load_accounts(AccountingSession& session, std::span<char* const> words);

}  // namespace minke::cli
