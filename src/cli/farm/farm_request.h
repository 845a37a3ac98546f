// What `minke farm run` is asked for: its own options, those of sbatch, the table and the command. One
// thread; blocking.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "farming/farm_directory.h"

namespace minke::cli {

struct FarmRequest {
  farming::FarmSettings settings;
  std::string directory;  // of the farm, absolute
  std::string table;      // a path; "-": standard input; empty: `glob`
  std::string glob;
  bool form_is_given = false;
  bool detach = false;
  std::string job_request;  // serialised
};

// argv[0] is "run". Error: the message; with code 0 and an empty message, --help was printed.
Result<FarmRequest> read_farm_request(int argc, char** argv);

// Lines of a file, of standard input ("-"), or the paths that a pattern fits.
farming::LineSource lines_of_file(const std::string& path);
farming::LineSource lines_of_glob(const std::string& pattern);

}  // namespace minke::cli
