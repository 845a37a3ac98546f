// Cases that failed for good run again, because their user wants it. One thread; blocking.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "farm/ledger.h"
#include "farming/journal.h"

namespace minke::farming {

// "3", "7-9": cases that a user names. Error: it is neither, or 0, or the second is less than the first.
Result<farm::Range> parse_cases(std::string_view text);

// Puts these cases back, all that have failed where none are named; and goes on where the farm was stopped.
// Each runs with as much memory as the last time at least. In a turn. Returns how many. Error: a case that is
// named has not failed; then nothing has changed.
Result<uint64_t> put_again(Journal& journal, const std::vector<farm::Range>& cases);

}  // namespace minke::farming
