// The tables of sacctmgr that a slurmdbd keeps beside the accounts, as far as the cluster knows them: what
// keeps nodes from working now, and the reservations that have begun. What is over is not kept, nor who
// changed what.
//
// One thread; blocking.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/sacctmgr/session.h"
#include "cli/sacctmgr/show_fields.h"

namespace minke::cli {

// `names`: only these nodes, or reservations; empty: all.
Result<std::vector<ShownLine>> event_lines(AccountingSession& session, const std::vector<std::string>& names);
Result<std::vector<ShownLine>> reservation_lines(AccountingSession& session,
                                                 const std::vector<std::string>& names);

}  // namespace minke::cli
