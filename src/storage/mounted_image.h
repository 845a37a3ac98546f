// A squashfs image as a directory, read-only, without unpacking it. Where the directory is removed, whoever
// removes it unmounts it first (node/tmp_dir.h). Blocking; any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace minke::storage {

// Whether something is mounted at the directory.
bool is_mounted(const std::string& directory);

// The process, and the user's others whose environment names the same job.
std::vector<pid_t> processes_of_job(pid_t process, uid_t user);

// By the kernel, for all who share this process's mounts. Needs root, and a kernel (or a container's rules)
// that allows it.
Status mount_by_kernel(const std::string& image, const std::string& directory);

// The same for a job of root's own cluster, whose script and steps have each their own mounts: where the
// launcher is, so that what starts later has it, too, and for those that run. `directory` is the job's, and
// ends with it. Errors: EPERM (no launcher is above this process, or the directory is another one there).
Status mount_for_job(const std::string& image, const std::string& directory);

// As any user, by squashfuse: a process that lives as long as the caller's job. Told to end with the job's
// other processes it goes on, for a script that still saves its work; only SIGKILL ends it.
Status mount_by_squashfuse(const std::string& image, const std::string& directory);

}  // namespace minke::storage
