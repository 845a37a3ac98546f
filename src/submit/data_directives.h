// The #MINKE lines of a job script: data that is brought to the job's own directory before its first line
// runs, and results that are brought back at its end.
//
//   #MINKE stage=SOURCE      any number; a path, with %u, %j … as in names of output files
//   #MINKE collect=DIRECTORY any number
//
// They stand where #SBATCH lines may, words are split as there. To Slurm they are comments.
// Pure; may be called from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::submit {

struct DataDirectives {
  std::vector<std::string> stage, collect;
  bool empty() const { return stage.empty() && collect.empty(); }
};

// Fails, with the line's number, on what is none of these.
Result<DataDirectives> read_data_directives(std::string_view script);

}  // namespace minke::submit
