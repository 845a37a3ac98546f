// Finds the parts of a change of accounts that have no effect, because the cluster does not enforce them.
// They are stored, as in Slurm, but whoever sets a limit must learn that it does not hold. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "accounts/account_book.h"

namespace minke::cli {

// The parameter's value by name, in Slurm's words: AccountingStorageEnforce, PriorityType.
using Parameters = std::map<std::string, std::string>;

// Returns a sentence for each kind of setting that the change sets or alters without effect here.
std::vector<std::string> without_effect(const accounts::AccountsChange& change,
                                        const accounts::AccountBook& before, const Parameters& parameters);

}  // namespace minke::cli
