// What jobs have besides where modules are set up (`minke software scan`): variables, and shells that know
// `module`.
//
// Read at start and at `scontrol reconfigure`; empty where there are none. The state's thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace minke::model {
class ProxySettings;
}  // namespace minke::model

namespace minke::software {

class SoftwareEnvironment {
 public:
  void load(const std::string& home);

  // Adds the variables, but for those that are the user's own to set and are in the block (NAME=VALUE, each
  // ended by NUL).
  void add_to(std::vector<std::string>& variables, std::string_view block) const;
  // The same for what programs read that would otherwise wait for a network: on partitions that have none.
  static void add_offline(std::vector<std::string>& variables, std::string_view block,
                          const model::ProxySettings& proxy);

  // The script as it is spooled. One for a login shell, whose profile sets PATH anew, gets an interpreter
  // that puts the commands in front again; so does one for a shell that must be told of modules. Lines stay
  // in place.
  std::string spooled(std::string_view script) const;

 private:
  struct Variable {
    std::string line;
    bool if_unset;
  };
  std::vector<Variable> variables_;
  std::string minke_;  // the program; empty: not loaded
};

}  // namespace minke::software
