// minke top: what running jobs and the machine use now.
#pragma once

#include <cstdint>
#include <string>

namespace minke::cli {

struct TopOptions {
  bool once = false;
  bool json = false;    // once, as JSON
  double seconds = 2;   // between two updates
  std::string jobs;     // comma-separated; empty: all running jobs
  bool series = false;  // with --json: also the samples so far
};

int top(const TopOptions& options);

}  // namespace minke::cli
