// The #MINKE lines of a job script: data to bring to the job's own directory before its first line runs, and
// results to bring back at its end.
//
//   #MINKE stage=SOURCE      any number; a path, with %u, %j … as in names of output files
//   #MINKE collect=DIRECTORY any number
//
// They may stand where #SBATCH lines may, and words are split as there. To Slurm they are comments. Pure; may
// be called from any thread.
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

// Fails on any other word; the message has the line's number.
Result<DataDirectives> read_data_directives(std::string_view script);

}  // namespace minke::submit
