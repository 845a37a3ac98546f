// Reads the numbers that slurmdbd has given to TRES, associations and QOS from its data base. One thread.
#pragma once

#include <string>

#include "base/result.h"
#include "grow/carry/database.h"
#include "grow/carry/record_rows.h"

namespace minke::grow {

Result<SlurmNumbers> slurm_numbers(const Database& database, const std::string& cluster);

}  // namespace minke::grow
