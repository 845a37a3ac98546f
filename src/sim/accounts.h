// The accounts of a replay: the tree and its shares from what `sacctmgr dump` wrote, and everybody whom the
// trace names besides.
//
// Of the dump only names, Fairshare, CoreYears and RGUYears are read: limits and QOS are not replayed. Pure.
#pragma once

#include <string>
#include <string_view>

#include "accounts/account_book.h"
#include "base/result.h"
#include "sim/trace.h"

namespace minke::sim {

// Errors name the line.
Result<accounts::AccountBook> read_accounts(std::string_view text);

// As the book writes them: in lower case; "none" for jobs that name no account or user.
std::string account_name(const Trace& trace, const TraceJob& job);
std::string user_name(const Trace& trace, const TraceJob& job);

// Accounts that are missing go below root, users into their accounts, all with one share. Fails where a name
// cannot be one.
Status add_missing(accounts::AccountBook& book, const Trace& trace);

}  // namespace minke::sim
