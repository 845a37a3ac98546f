// All partitions of the new Slurm DOWN for a while, so that no job starts. What they were before is kept in a
// file of the snapshot, so that a process that is killed leaves them DOWN until the next one opens them. One
// thread.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "grow/carry/commands.h"

namespace minke::grow {

class ClosedPartitions {
 public:
  ClosedPartitions(const Commands& commands, const std::string& directory)
      : commands_(commands), path_(directory + "/partitions") {}

  Status close();
  Status open();  // each gets its state before close()

 private:
  Status set(const std::function<std::string(const std::string& before)>& state);

  const Commands& commands_;
  std::string path_;
};

}  // namespace minke::grow
