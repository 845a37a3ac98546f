// minke guard: keeps processes outside of any job from the GPUs. For root.
//
// What is guarded stands in the home's file `guard`: the groups, then the devices that they are kept from. A
// restarted machine has forgotten it; `minke up --shared`, and so systemd's unit of the launcher, puts it in
// force again, with the GPUs that there are then.
#pragma once

#include <string>
#include <vector>

namespace minke::cli {

struct GuardOptions {
  std::string action;               // "on", "off", "status"
  std::vector<std::string> groups;  // with "on"; none: user.slice
};

int guard(const GuardOptions& options);

// The groups that are guarded; none: there is no guard.
std::vector<std::string> guarded_groups(const std::string& home);
// What `minke up` does about it. Says on standard error what does not work; never keeps the cluster from
// starting.
void guard_again(const std::string& home);

}  // namespace minke::cli
