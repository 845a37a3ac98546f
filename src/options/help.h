// --help and the manual page of a command, made from its options.
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

// Escapes text for roff: a hyphen to type and a backslash need a backslash in front; a line must
// not begin with a dot.
std::string roff(std::string_view text);

}  // namespace minke::options
