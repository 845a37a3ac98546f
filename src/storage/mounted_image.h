// A squashfs image as a directory, read-only, without unpacking it. Where the directory is removed, whoever
// removes it unmounts it first (node/tmp_dir.h). Blocking; any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace minke::storage {

// Whether something is mounted at the directory.
bool is_mounted(const std::string& directory);

// By the kernel, for all who share this process's mounts. Needs root, and a kernel (or a container's rules)
// that allows it.
Status mount_by_kernel(const std::string& image, const std::string& directory);

// As any user, by squashfuse: a process that lives as long as the caller's job. Told to end with the job's
// other processes it goes on, for a script that still saves its work; only SIGKILL ends it.
Status mount_by_squashfuse(const std::string& image, const std::string& directory);

}  // namespace minke::storage
