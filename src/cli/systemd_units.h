// Systemd units of this program, printed for an administrator to install. The commands' thread.
#pragma once

#include <string>

namespace minke::cli {

// Prints a unit in which "{program}" stands for the path of this program. Returns the exit status.
int print_unit(std::string text);

// minke up --print-units: those that run a shared cluster. Returns the exit status. Reads the configuration:
// the daemon must be able to write to a tmp_root elsewhere.
int print_systemd_units();

}  // namespace minke::cli
