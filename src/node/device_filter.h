// A program for the kernel (eBPF) that keeps the processes of a control group of version 2 from some
// character devices: what the devices controller of version 1 does by itself.
//
// Needs root. The program lives as long as the group. Any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace minke::node {

// Only loads it: whether the kernel takes such programs. At most 1024 devices.
Result<os::UniqueFd> load_device_filter(const std::vector<dev_t>& hidden);

// For the group of this directory and those below it.
Status attach_device_filter(const std::string& directory, const std::vector<dev_t>& hidden);

}  // namespace minke::node
