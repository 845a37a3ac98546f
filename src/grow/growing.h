// minke grow, as its command asks for it: looks at the hosts, makes the plan, applies or undoes it. Blocking;
// one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/configuration.h"
#include "grow/applying.h"

namespace minke::grow {

struct Asked {
  std::vector<std::string> hosts;
  bool head_computes = true;
  bool discard = false;
  bool leave = false;
  bool gone = false;  // what cannot be reached is given up
};

// The one-machine cluster of this process's home, as its files have it.
struct Home {
  std::string path, configuration_path;
  config::Configuration configuration;
};
Result<Home> open_home();

// Looks at all hosts; nothing is changed. `password` stands for the data base's.
Result<Plan> plan(const Home& home, const Asked& asked, const std::string& password, Wishes& wishes);
std::string plan_text(const Plan& plan);

// Does the plan that is under way, or makes one. Error: what stopped it, and how to go on.
Status apply(const Home& home, const Asked& asked, const Tell& tell);
// The steps that come later: waits for what runs under Minke, as long as that takes.
Status settle(const Home& home, const Tell& tell);
Status undo(const Home& home, const Asked& asked, const Tell& tell);
Status confirm(const Home& home);
Result<std::string> status(const Home& home);

}  // namespace minke::grow
