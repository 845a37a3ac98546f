// minke doctor: looks for what is known to go wrong on a machine, says it, and gives the command that mends
// it. Changes nothing (cli/repair.h does). Exit status: 0 where nothing is wrong, 1 otherwise.
#pragma once

namespace minke::cli {

int doctor(bool json);

}  // namespace minke::cli
