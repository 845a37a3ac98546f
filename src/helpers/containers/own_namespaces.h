// The namespaces of users and mounts in which a container is put together. The caller makes them for itself,
// with a user's rights; they, and every mount in them, are gone when the last process in them is, however it
// ends. One thread.
#pragma once

#include <string>

#include "base/result.h"

namespace minke::helpers {

// A file or directory that a container sees.
struct ContainerMount {
  std::string source, target;
  bool read_only = false;
  bool recursive = true;
};

// Enters new ones. Inside, the caller has all rights over what is mounted there; it is root, or keeps its
// number. Outside it has the rights that it had, less those of root. The caller has no other threads.
//
// `meeting`: a file by which containers of one job find each other's namespace of users, and share it: tasks
// of an MPI program look into each other's memory. Empty: a new one in any case.
Status enter_own_namespaces(bool as_root, const std::string& meeting = "");

// An empty directory in memory at `directory`, which is there.
Status mount_memory(const std::string& directory, const std::string& options);
Status mount_bound(const std::string& source, const std::string& target, bool read_only, bool recursive);
// Makes a mount, and those below it, read-only. Older kernels than 5.12 fail with ENOSYS.
Status make_read_only(const std::string& target, bool recursive);

}  // namespace minke::helpers
