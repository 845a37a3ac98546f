// A kernel program (eBPF) that denies the processes of a version 2 control group access to some character
// devices. In version 1 the devices controller does this.
//
// Needs root. The program lives as long as the group. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace minke::node {

// Loads the program without attaching it, to test if the kernel accepts it. At most 1024 devices.
Result<os::UniqueFd> load_device_filter(const std::vector<dev_t>& hidden, const std::string& name = "");

// Attaches to the group of this directory and those below. `name` (at most 15 of [A-Za-z_]) helps to find it.
Status attach_device_filter(const std::string& directory, const std::vector<dev_t>& hidden,
                            const std::string& name = "");

// The kernel's ids of the filters with this name that are attached to the group itself.
Result<std::vector<uint32_t>> find_device_filters(const std::string& directory, const std::string& name);
Status detach_device_filters(const std::string& directory, const std::vector<uint32_t>& filters);

}  // namespace minke::node
