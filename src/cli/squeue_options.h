// squeue's command line and its SQUEUE_* variables. One thread.
#pragma once

#include <optional>

#include "view/squeue.h"

namespace minke::cli {

// Reads the SQUEUE_* variables and the command line; returns an exit status if the command ends here
// (--help, an error).
std::optional<int> read_squeue_arguments(int argc, char** argv, view::SqueueOptions& options);

}  // namespace minke::cli
