// minke doctor: looks for known problems of a machine, reports them, and gives the command that fixes each.
// Changes nothing (cli/repair.h does). Exit status: 0 if nothing is wrong, else 1.
#pragma once

namespace minke::cli {

int doctor(bool json);

}  // namespace minke::cli
