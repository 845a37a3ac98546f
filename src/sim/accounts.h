// The accounts of a replay: the tree and its shares from the output of `sacctmgr dump`, and everybody else
// whom the trace names.
//
// Of the dump only names, Fairshare, CoreYears and RGUYears are read: limits and QOS are not replayed. Pure.
#pragma once

#include <string>
#include <string_view>

#include "accounts/account_book.h"
#include "base/result.h"
#include "sim/trace.h"

namespace minke::sim {

// An error names the line.
Result<accounts::AccountBook> read_accounts(std::string_view text);

// As in the book: in lower case; "none" for jobs that name no account or user.
std::string account_name(const Trace& trace, const TraceJob& job);
std::string user_name(const Trace& trace, const TraceJob& job);

// Adds missing accounts below root, and users to their accounts, all with one share. Fails if
// a name is invalid.
Status add_missing(accounts::AccountBook& book, const Trace& trace);

}  // namespace minke::sim
