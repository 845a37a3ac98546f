// Accounts for a worker that is no more: what it had not started goes back, what it was doing is lost, or
// runs again by the rule. Every case that it had taken is then in one place again. One thread; blocking.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "farm/outcome.h"
#include "farm/retry_rule.h"
#include "farming/journal.h"

namespace minke::farming {

// This machine's boot; empty where /proc does not tell.
std::string boot_id();

// What is known of how a worker ended.
struct Death {
  farm::Ending ending = farm::Ending::kLost;
  // Whether everything that it wrote before is there: the machine has not gone down since. Else each case
  // that it had taken may have begun.
  bool files_are_whole = true;
};

// In a turn. Nothing happens where the ledger does not know the worker, or knows that it has gone.
Status account_for(Journal& journal, uint32_t worker, const farm::RetryRule& rule, const Death& death);

// In a turn: accounts for all workers whose processes have ended, but for `self`. Returns how many those
// were.
Result<uint32_t> account_for_the_dead(Journal& journal, const farm::RetryRule& rule, uint32_t self = 0);

}  // namespace minke::farming
