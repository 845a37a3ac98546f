// minke top: what running jobs and the machine use now.
#pragma once

#include <cstdint>
#include <string>

namespace minke::cli {

struct TopOptions {
  bool once = false;
  bool json = false;    // once, as JSON
  double seconds = 2;   // between two looks
  std::string jobs;     // comma-separated; empty: all that run
  bool series = false;  // with --json: what was sampled so far too
};

int top(const TopOptions& options);

}  // namespace minke::cli
