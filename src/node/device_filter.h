// A program for the kernel (eBPF) that keeps the processes of a control group of version 2 from some
// character devices: what the devices controller of version 1 does by itself.
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

// Only loads it: whether the kernel takes such programs. At most 1024 devices.
Result<os::UniqueFd> load_device_filter(const std::vector<dev_t>& hidden, const std::string& name = "");

// For the group of this directory and those below it. `name`: to find it again by; at most 15 letters and _.
Status attach_device_filter(const std::string& directory, const std::vector<dev_t>& hidden,
                            const std::string& name = "");

// Those of this name that are attached to the group itself, by the kernel's numbers.
Result<std::vector<uint32_t>> find_device_filters(const std::string& directory, const std::string& name);
Status detach_device_filters(const std::string& directory, const std::vector<uint32_t>& filters);

}  // namespace minke::node
