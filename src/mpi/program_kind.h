// Which MPI library a program is linked with, and so what it expects srun to offer: for the steps of which
// nobody has said. Any thread.
#pragma once

#include <optional>
#include <string>

#include "mpi/server.h"

namespace minke::mpi {

// Nothing for scripts, for programs of other machines, and for those that load such a library at run time or
// by way of another library. `path`: of the file.
std::optional<Kind> kind_of_program(const std::string& path);

}  // namespace minke::mpi
