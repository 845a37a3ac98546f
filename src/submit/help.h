// --help, --usage and man pages, made from the option table.
//
// Pure; may be called from any thread.
#pragma once

#include <string>

#include "submit/job_request.h"

namespace minke::submit {

std::string help_text(Command command);
std::string usage_text(Command command);

// A man page of section 1 (roff): synopsis, every option with its effect here, input variables.
std::string man_page(Command command);

}  // namespace minke::submit
