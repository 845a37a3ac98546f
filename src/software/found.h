// One version of a program on this machine, and the effect of its module.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace minke::software {

struct Found {
  std::string name, version;  // of the module
  std::string description;
  std::string property;  // "tools", "mpi" …, as lmodrc.lua has them; may be empty
  std::string family;    // only one of a family is loaded; may be empty
  std::string prefix;    // the value of EBROOT…
  std::string program;   // the path that reported the version
  // Directories that go in front of PATH, LD_LIBRARY_PATH …, by variable.
  std::map<std::string, std::vector<std::string>> paths;
  std::map<std::string, std::string> variables;
  // Programs of a directory of links, which goes in front of
  // PATH: name and target. A target that begins with "#!" is a
  // script of its own.
  std::map<std::string, std::string> links;
};

}  // namespace minke::software
