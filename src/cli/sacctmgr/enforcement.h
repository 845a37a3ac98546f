// What of a change of accounts has no effect, because the cluster enforces nothing of the kind: it is kept,
// as in Slurm, but who sets a limit must be told that it does not hold. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "accounts/account_book.h"

namespace minke::cli {

// By the parameter's name, in Slurm's words: AccountingStorageEnforce, PriorityType.
using Parameters = std::map<std::string, std::string>;

// A sentence for each kind of setting that the change makes or alters, and that changes nothing here.
std::vector<std::string> without_effect(const accounts::AccountsChange& change,
                                        const accounts::AccountBook& before, const Parameters& parameters);

}  // namespace minke::cli
