// Which MPI library a program is linked with, and so what it expects srun to offer: for steps without
// --mpi. Any thread.
#pragma once

#include <optional>
#include <string>

#include "mpi/server.h"

namespace minke::mpi {

// Returns nothing for scripts, for programs of other machines, and for those that load such a library at run
// time or through another library. `path` is the file's.
std::optional<Kind> kind_of_program(const std::string& path);

// Whether it is an interpreter that may load an MPI library at run time (Python, Julia, R), or a script for
// one.
bool may_load_mpi(const std::string& path);

}  // namespace minke::mpi
