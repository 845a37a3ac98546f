// minke software: module files for the software of this machine, and names of other clusters' modules.
#pragma once

#include <string>
#include <vector>

namespace minke::cli {

struct ScanCommand {
  std::vector<std::string> paths;  // searched first
  bool json = false;
};
struct AliasCommand {
  std::string name;                  // empty: show them
  std::vector<std::string> targets;  // none: there is nothing to load
  bool remove = false;
};
// Each returns the exit code.
int software_scan(const ScanCommand& command);
int software_alias(const AliasCommand& command);

// What `minke env` also prints if modules are set up: for shells like sh, or like csh.
std::string module_functions(const std::string& home, bool csh);

// minke modulecmd SHELL ARGUMENTS…: prints what `module` evaluates. Becomes Lmod.
int modulecmd_main(int argc, char** argv);
// "script-shell SHELL OPTIONS" SCRIPT ARGUMENTS…: the interpreter of job scripts for shells that take no
// functions from the environment. Becomes that shell.
int script_shell_main(int argc, char** argv);

}  // namespace minke::cli
