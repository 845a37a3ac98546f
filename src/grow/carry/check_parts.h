// The parts of check(), each with what it found equal and what not. One thread.
#pragma once

#include "base/result.h"
#include "grow/carry/carry.h"
#include "grow/carry/commands.h"
#include "grow/carry/snapshot.h"

namespace minke::grow {

Status check_accounts(const Snapshot& snapshot, const Commands& commands, Comparison& comparison);
Status check_usage(const Snapshot& snapshot, const Commands& commands, Comparison& comparison);
Status check_record(const Snapshot& snapshot, const Commands& commands, Comparison& comparison);
Status check_queue(const Snapshot& snapshot, const Commands& commands, Comparison& comparison);

}  // namespace minke::grow
