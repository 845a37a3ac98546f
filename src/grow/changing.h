// A machine joins the grown cluster, or leaves it, while jobs run; or all leave it. Steps as those of a plan,
// in the same journal: whoever is interrupted says the same command again. Blocking; one thread.
#pragma once

#include <string>

#include "base/result.h"
#include "grow/growing.h"

namespace minke::grow {

Status add_host(const Home& home, const std::string& host, const Tell& tell);
// `name`: the node's. `gone`: it cannot be reached any more, so nothing is put back there.
Status remove_host(const Home& home, const std::string& name, bool gone, const Tell& tell);

// Gives all machines this program, and starts minke agent there, also where it is older or was never there.
Status start_agents(const Home& home, const Tell& tell);

// Back to one machine, once what runs has ended. What Slurm has learned comes back where it can, and what
// cannot is told.
// `gone`: machines that cannot be reached stay as they are.
Status shrink(const Home& home, bool gone, const Tell& tell);

}  // namespace minke::grow
