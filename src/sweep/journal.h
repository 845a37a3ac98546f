// What happened in a sweep, in the order in which it happened: one JSON object a line, on the disk before
// anybody acts on it. A line that a crash cut off counts for nothing, and is removed. One thread; blocking.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace minke::sweep {

class Journal {
 public:
  // Makes the file where there is none. Only the holder of the sweep's lock may append.
  static Result<Journal> open(const std::string& path);

  // Without the line feed. Returns once it is on the disk; if that fails, the file is as before.
  Status append(const std::string& line);
  // Whole lines, in order; for anybody.
  static Result<std::vector<std::string>> read(const std::string& path);

 private:
  os::UniqueFd file_;
  std::string path_;
  int64_t end_ = 0;  // bytes
};

}  // namespace minke::sweep
