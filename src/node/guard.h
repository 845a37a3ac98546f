// Denies processes outside of jobs access to devices. It guards a control group of the machine
// (systemd's user.slice, which has all logins) with everything below it. Version 1 uses the devices
// controller, version 2 a filter (node/device_filter.h) beside systemd's own. A guard lasts until it is
// removed or the machine restarts.
//
// Needs root. Any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace minke::node {

// Replaces an earlier guard: only `devices` are denied afterwards. `group`: a path below the mount, such as
// "user.slice". Errors: there is no such group; the kernel refuses.
Status guard_group(const std::string& group, const std::vector<dev_t>& devices);
// `devices`: the devices that were denied (version 1 does not list them).
Status unguard_group(const std::string& group, const std::vector<dev_t>& devices);

// Whether a process in /proc is in the guarded group or below it.
bool is_in_group(pid_t pid, const std::string& group);

}  // namespace minke::node
