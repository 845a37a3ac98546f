// sacctmgr list event and list transaction: what happened to nodes, and who changed the accounts.
//
// One thread; blocking.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/sacctmgr/session.h"
#include "cli/sacctmgr/show_fields.h"
#include "cli/sacctmgr/words.h"

namespace minke::cli {

inline constexpr int kToldAsItIs = 3;  // the code of errors that stand without "sacctmgr: error: "

// `flags`: conditions without a value, in lower case: "all_time".
Result<std::vector<ShownLine>> event_lines(AccountingSession& session, std::span<const Word> where,
                                           const std::set<std::string>& flags);
Result<std::vector<ShownLine>> transaction_lines(AccountingSession& session, std::span<const Word> where);

}  // namespace minke::cli
