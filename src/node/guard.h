// Keeps processes outside of jobs from devices: a control group of the machine's own (systemd's user.slice,
// which all logins are in), with all below it, may not open them. In version 1 by the devices controller, in
// version 2 by a filter (node/device_filter.h) that systemd's own leave alone. It holds until it is taken
// away again, or the machine is restarted.
//
// Needs root. Any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace minke::node {

// `group`: its path below the mount, "user.slice". Errors: there is no such group; the kernel refuses.
// What an earlier guard kept it from it may open then, unless it is among `devices`.
Status guard_group(const std::string& group, const std::vector<dev_t>& devices);
// `devices`: what it was guarded from (version 1 does not tell).
Status unguard_group(const std::string& group, const std::vector<dev_t>& devices);

// Whether a process (of /proc) is in the group that is guarded, or below it.
bool is_in_group(pid_t pid, const std::string& group);

}  // namespace minke::node
