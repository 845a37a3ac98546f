// Drops the rights of a process of root's before it reads what a stranger wrote: its user, all capabilities,
// whatever setuid programs could give back, and system calls that only attacks on the kernel or on other
// processes need. For good, and for all processes that it starts.
//
// For processes that serve the network or parse users' files: the metrics server, job proxies, the unpacker
// of the shared cache, the GPUs' probe. Call it before they have threads. Never for programs of users: jobs
// may use setuid programs, namespaces and debuggers.
#pragma once

#include <sys/types.h>

namespace minke::os {

struct HelperAccount {
  uid_t uid;
  gid_t gid;
};

// The account that helpers have instead of root's: "minke-helper" if the administrator made it (the units
// come with a line for systemd-sysusers), else nobody.
HelperAccount helper_account();

// Root becomes that account; any other user stays the same, and drops the rest. Returns false if any
// of it was impossible; the caller must end then. The user's groups go as well, and PR_SET_PDEATHSIG:
// set it afterwards.
bool confine_self(const HelperAccount& account);

}  // namespace minke::os
