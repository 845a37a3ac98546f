// A program that runs while its output is read: nothing of that is kept, however long it is. What it says on
// its standard error is kept, as far as it is short. Blocking; one thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace minke::os {

struct ProgramOptions {
  std::chrono::seconds timeout{60};           // from its start to its end; then it is killed
  size_t most_bytes = size_t{1} << 30;        // of its output; then it is killed
  std::vector<std::string> environment = {};  // NAME=VALUE laid over this program's; "NAME" alone removes it
  bool only_environment = false;              // all of it is `environment`, and nothing of this program's
  int input = -1;                             // its standard input; -1: /dev/null
};

class ProgramOutput {
 public:
  // argv[0] is a path. Error: it cannot be started.
  static Result<ProgramOutput> start(const std::vector<std::string>& argv, ProgramOptions options = {});
  ProgramOutput(ProgramOutput&&) noexcept;
  ProgramOutput& operator=(ProgramOutput&&) = delete;
  ~ProgramOutput();  // one that runs is killed

  // The next bytes; 0: it has closed its output. Errors: ETIMEDOUT, EFBIG.
  Result<size_t> read(char* buffer, size_t size);

  struct Ended {
    int exit_code = 0;      // 128 and the signal where one ended it
    std::string complaint;  // its standard error
  };
  // Once its output has been read to the end. Error: ETIMEDOUT.
  Result<Ended> finish();

 private:
  ProgramOutput() = default;
  void keep_complaint();
  void kill();

  std::string name_;
  ProgramOptions options_;
  std::chrono::steady_clock::time_point deadline_;
  std::optional<pid_t> child_;
  UniqueFd output_, error_;
  size_t read_ = 0;
  std::string complaint_;
};

}  // namespace minke::os
