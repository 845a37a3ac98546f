// What a change of the accounts was, in Slurm's words: the records that sacctmgr lists as transactions.
//
// Columns are named as slurmdbd's tables name them, because that is what sacctmgr shows of a slurmdbd.
// Pure.
#pragma once

#include <vector>

#include "model/history.pb.h"

namespace minke::accounts {

class AccountBook;

// Without time, actor and id. Associations that went with their account or user are not named.
std::vector<model::Transaction> transactions_between(const AccountBook& before, const AccountBook& after);

}  // namespace minke::accounts
