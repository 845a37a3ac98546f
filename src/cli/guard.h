// minke guard: keeps processes outside of any job from the GPUs. For root.
//
// The home's file `guard` holds the state: the groups, then the devices that they are kept from. A restarted
// machine has forgotten it; `minke up --shared`, and so systemd's unit of the launcher, puts it in force
// again, with the GPUs that there are then.
#pragma once

#include <string>
#include <vector>

namespace minke::cli {

struct GuardOptions {
  std::string action;               // "on", "off", "status"
  std::vector<std::string> groups;  // with "on"; default: user.slice
};

int guard(const GuardOptions& options);

// Returns the guarded groups; empty if there is no guard.
std::vector<std::string> guarded_groups(const std::string& home);
// Called by `minke up`. Prints failures on standard error; never keeps the
// cluster from starting.
void guard_again(const std::string& home);

}  // namespace minke::cli
