// minke up --print-units: the units that systemd runs a shared cluster by.
#pragma once

namespace minke::cli {

// The exit status. Reads the configuration: a tmp_root elsewhere is written to by the daemon.
int print_systemd_units();

}  // namespace minke::cli
