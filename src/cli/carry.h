// minke carry: what a one-machine cluster knows, taken into a real Slurm on this machine.
#pragma once

#include <string>
#include <vector>

namespace minke::cli {

struct CarryOptions {
  std::string directory;
  std::vector<std::string> parts;     // of `bring`: accounts, usage, record, waiting; empty: all
  std::string programs = "/usr/bin";  // Slurm's commands
  std::string daemons = "/usr/sbin";
  std::string database_configuration = "/etc/slurm/slurmdbd.conf";
  std::string start_controller;  // a command for the shell; empty: systemctl start slurmctld
};

// All return the exit code. Messages go to standard error.
int carry_take(const CarryOptions& options);
int carry_bring(const CarryOptions& options);
int carry_check(const CarryOptions& options);
int carry_back(const CarryOptions& options);

}  // namespace minke::cli
