// slurmctld of this machine: what it says of its configuration, stopping and starting it. One thread.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>

#include "base/result.h"
#include "grow/carry/commands.h"

namespace minke::grow {

class Controller {
 public:
  // Asks a slurmctld that runs. Error: it does not answer.
  static Result<Controller> find(const NewSlurm& slurm);

  // Of `scontrol show config`; empty: not there.
  std::string setting(const std::string& name) const;
  const std::string& state_directory() const { return state_directory_; }

  // Returns when it has saved its state and ended.
  Status stop() const;
  // Returns when it answers. Does nothing if it does already.
  Status start() const { return start_it(slurm_); }
  static Status start_it(const NewSlurm& slurm);

 private:
  explicit Controller(const NewSlurm& slurm) : slurm_(slurm), commands_(slurm) {}

  NewSlurm slurm_;
  Commands commands_;
  std::map<std::string, std::string> settings_;
  std::string state_directory_;
};

}  // namespace minke::grow
