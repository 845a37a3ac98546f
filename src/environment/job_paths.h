// The files of a job's standard streams: expands file name patterns to absolute paths. Pure.
#pragma once

#include <string>

#include "text/file_pattern.h"

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::environment {

// `record` has its spec.
text::FilePatternValues pattern_values(const model::JobRecord& record);

struct JobPaths {
  std::string in;  // empty: /dev/null
  std::string out;
  std::string error;  // empty: same as `out`
};
JobPaths paths_of(const model::JobRecord& record);

}  // namespace minke::environment
