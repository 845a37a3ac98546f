// The process that serves a squashfs image to a container: Debian's squashfuse, as the job's user. It starts
// before the container's namespaces are made, outside of them; what it serves is mounted inside. So the mount
// goes with the container's last process, and then the server ends by itself. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace minke::helpers {

// Starts it; it waits until it is told what to serve, and ends if the returned descriptor is closed before.
Result<os::UniqueFd> start_image_server(const std::string& image, uint64_t offset);

// Mounts at the directory, in the namespaces that the caller has now, and tells the server.
Status mount_served_image(int server, const std::string& directory);

}  // namespace minke::helpers
