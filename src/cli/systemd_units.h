// minke up --print-units: the systemd units that run a shared cluster.
#pragma once

namespace minke::cli {

// Returns the exit status. Reads the configuration: the daemon must be able to write to a tmp_root elsewhere.
int print_systemd_units();

}  // namespace minke::cli
