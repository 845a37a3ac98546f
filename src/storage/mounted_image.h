// Mounts a squashfs image as a directory, read-only, without unpacking it. Whoever removes the directory
// unmounts it first (node/tmp_dir.h). Blocking; any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace minke::storage {

// Whether something is mounted at the directory.
bool is_mounted(const std::string& directory);

// This process, and the user's others whose environment names the same job.
std::vector<pid_t> processes_of_job(pid_t process, uid_t user);

// Mounts by the kernel, for all that share this process's mounts. Needs root, and a kernel (or a container's
// rules) that allows it.
Status mount_by_kernel(const std::string& image, const std::string& directory);

// The same for a job of root's own cluster, whose script and steps each have their own mounts: mounts it for
// the launcher, so that later processes have it, and for those that run. `directory` is the job's, and ends
// with it. Fails with EPERM if no launcher is above this process, or sees another directory there.
Status mount_for_job(const std::string& image, const std::string& directory);

// Mounts as any user, by squashfuse: a process that lives as long as the caller's job. It ignores the signals
// that end the job's other processes, for a script that still saves its work; only SIGKILL ends it.
Status mount_by_squashfuse(const std::string& image, const std::string& directory);

}  // namespace minke::storage
