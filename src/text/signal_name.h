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

// "USR1", "SIGUSR1", "usr1", "10": 1 to 64. Nothing where it is no signal.
std::optional<uint32_t> parse_signal(std::string_view text);

// Without SIG: "USR1"; a number without a name of its own as digits.
std::string signal_name(uint32_t number);

// [{R|B|RB}:]<signal>[@<seconds>]; 60 seconds where none are given, 0 after a bare @,
// at most 65535.
Result<model::WarningSignal> parse_warning_signal(std::string_view text);
std::string format_warning_signal(const model::WarningSignal& warning);  // "B:USR1@90"

}  // namespace minke::text
