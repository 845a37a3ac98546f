// The additions for jobs: login shells that keep the cluster's commands and, if modules are set up (`minke
// software scan`), variables, and shells that know `module`.
//
// Read at start and at `scontrol reconfigure`. The state's thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::model {
class ProxySettings;
}  // namespace minke::model

namespace minke::software {

class SoftwareEnvironment {
 public:
  void load(const std::string& home);
  // Writes what login shells in jobs read, for the daemon alone.
  static Status write_login_shell_file(const std::string& home);

  // Adds the variables, except those that the user may set and that are in the block (NAME=VALUE,
  // each ended by NUL).
  void add_to(std::vector<std::string>& variables, std::string_view block) const;
  // The same for variables of programs that would otherwise wait for a network, on partitions without one.
  static void add_offline(std::vector<std::string>& variables, std::string_view block,
                          const model::ProxySettings& proxy);

  // Returns the script to spool. A script for a login shell, whose profile sets PATH anew, gets an
  // interpreter that puts the commands in front again; so does one for a shell that must learn about modules.
  // Lines keep their numbers.
  std::string spooled(std::string_view script) const;

 private:
  struct Variable {
    std::string line;
    bool if_unset;
  };
  std::vector<Variable> variables_;
  bool has_modules_ = false;
  std::string minke_;  // the program; empty: not loaded
};

}  // namespace minke::software
