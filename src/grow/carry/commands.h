// The commands of the new Slurm, started without a shell. Their standard error comes with their output: some
// say there what is wrong. One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grow/carry/carry.h"

namespace minke::grow {

class Commands {
 public:
  explicit Commands(const NewSlurm& slurm) : slurm_(slurm) {}

  // What a command says, if it succeeds. `words`: its name, in the directory of programs, and its arguments.
  Result<std::string> ask(std::vector<std::string> words) const;
  // The rows of a table that `-P` prints without a heading: cells between bars.
  Result<std::vector<std::vector<std::string>>> table(std::vector<std::string> words, size_t columns) const;
  Status change(std::vector<std::string> words) const;

 private:
  NewSlurm slurm_;
};

// Cells of lines. The last one keeps the bars in it; lines with fewer cells are left out.
std::vector<std::vector<std::string>> cells_of(std::string_view text, size_t columns);

}  // namespace minke::grow
