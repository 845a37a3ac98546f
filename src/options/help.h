// --help and the manual page of a command, made of its options.
//
// Pure; may be called from any thread.
#pragma once

#include <string>
#include <string_view>

#include "options/option.h"

namespace minke::options {

std::string help_text(const Command& command);

// A manual page of section 1 (roff): synopsis, options, input variables.
std::string man_page(const Command& command);

// "--time=limit", "--nice[=value]"
std::string long_form(std::string_view name, ArgumentKind argument, std::string_view argument_name);

// Text for roff: a hyphen that is to be typed, and a backslash, want a backslash; a line must not begin with
// a dot.
std::string roff(std::string_view text);

}  // namespace minke::options
