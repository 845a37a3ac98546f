// minke runs: the W&B runs that jobs left on disk, and their upload.
#pragma once

#include <string>
#include <vector>

namespace minke::cli {

struct RunsOptions {
  std::vector<std::string> directories;  // none: the current one
  bool upload = false;
  bool json = false;
};
// Returns the exit code: 1 if an upload failed.
int runs(const RunsOptions& options);

}  // namespace minke::cli
