// One version of a program that this machine has, and what a module of it does.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace minke::software {

struct Found {
  std::string name, version;  // of the module
  std::string description;
  std::string property;  // "tools", "mpi" …, as lmodrc.lua has them; may be empty
  std::string family;    // of which only one is loaded; may be empty
  std::string prefix;    // what EBROOT… says
  std::string program;   // the path that was asked for its version
  // Directories that go in front of PATH, LD_LIBRARY_PATH …, by variable.
  std::map<std::string, std::vector<std::string>> paths;
  std::map<std::string, std::string> variables;
  // Programs of a directory of links, which goes in front of PATH: name, and where it leads to. What begins
  // with
  // "#!" is a script of its own.
  std::map<std::string, std::string> links;
};

}  // namespace minke::software
