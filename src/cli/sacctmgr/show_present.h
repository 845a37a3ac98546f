// sacctmgr list reservation: the reservations that have begun. Those that are over are not kept.
//
// One thread; blocking.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/sacctmgr/session.h"
#include "cli/sacctmgr/show_fields.h"

namespace minke::cli {

// `names`: only these; empty: all.
Result<std::vector<ShownLine>> reservation_lines(AccountingSession& session,
                                                 const std::vector<std::string>& names);

}  // namespace minke::cli
