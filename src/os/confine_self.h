// What a process of root's gives up before it reads what a stranger wrote: its user, all capabilities,
// whatever setuid programs could give back, and system calls that only attacks on the kernel or on other
// processes need. For good, and for all that it starts.
//
// For processes that serve the network or take files of users' apart: the metrics server, job proxies, the
// unpacker of the shared cache, the GPUs' probe. Before they have threads. Never for what runs
// users' own programs: jobs may use setuid programs, namespaces and debuggers.
#pragma once

#include <sys/types.h>

namespace minke::os {

struct HelperAccount {
  uid_t uid;
  gid_t gid;
};

// The account that helpers have instead of root's: "minke-helper" where the administrator made it (the units
// come with a line for systemd-sysusers), else nobody.
HelperAccount helper_account();

// Root becomes that account; anybody else stays who he is, and gives up the rest. False: something of it was
// not possible, and the caller must end. The user's groups go as well, and PR_SET_PDEATHSIG: set it
// afterwards.
bool confine_self(const HelperAccount& account);

}  // namespace minke::os
