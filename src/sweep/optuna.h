// Writes a sweep as a study of Optuna's, in the SQLite storage that optuna.load_study() opens. Blocking; any
// thread.
#pragma once

#include <string>

#include "base/result.h"
#include "sweep/record.h"

namespace minke::sweep {

// Makes the file, which must not exist; it appears when it is whole. `study` is the study's name.
Status export_optuna(const Record& record, const std::string& path, const std::string& study);

}  // namespace minke::sweep
