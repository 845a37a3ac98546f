// sinfo's command line and its SINFO_* variables. One thread.
#pragma once

#include <optional>

#include "view/sinfo.h"

namespace minke::cli {

// Reads the SINFO_* variables and the command line; returns an exit status if the command ends here
// (--help, an error).
std::optional<int> read_sinfo_arguments(int argc, char** argv, view::SinfoOptions& options);

}  // namespace minke::cli
