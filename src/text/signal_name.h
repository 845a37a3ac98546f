// Signals by name or number, and the argument of --signal.
//
// Pure; may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::model {
class WarningSignal;
}  // namespace minke::model

namespace minke::text {

// Reads "USR1", "SIGUSR1", "usr1" or "10": 1 to 64. Returns nothing if it is not a signal.
std::optional<uint32_t> parse_signal(std::string_view text);

// Returns the name without SIG: "USR1"; digits for a number that has no name.
std::string signal_name(uint32_t number);

// Reads [{R|B|RB}:]<signal>[@<seconds>]: 60 seconds if not given, 0 after a
// bare @, at most 65535.
Result<model::WarningSignal> parse_warning_signal(std::string_view text);
std::string format_warning_signal(const model::WarningSignal& warning);  // "B:USR1@90"

}  // namespace minke::text
