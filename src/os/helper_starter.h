// Starts processes on behalf of another process of root's, which may then itself be kept from all that they
// need: under systemd the daemon sees a read-only system without network, and what it starts (prologs,
// programs of triggers, the mailer, the keeper of storage ...) belongs to a unit of its own.
//
// The starter trusts who asks it: its socket lies in the cluster's home, which is root's, and it answers
// nobody but its own user. So the daemon's unit bounds what an attacker reaches by mistakes of the daemon's
// that do not run his code; who runs code in the daemon can ask the starter.
//
// A request is one packet: how many arguments there are, the log's path, the arguments and the environment,
// each ended by NUL; with it come standard output and, where there is one, standard input. The answer is
// a dot, and after it what went wrong, if something did.
#pragma once

#include <string>

#include "base/result.h"
#include "os/detached.h"

namespace minke::os {

std::string helper_starter_path(const std::string& home);

// From now on start_detached() asks the starter that listens there. Before there are threads.
void use_helper_starter(std::string path);
bool has_helper_starter();

// Waits for the answer, for some seconds at most.
Status ask_helper_starter(const DetachedProgram& program);

// Serves until it is killed; one thread. Tells systemd when it listens. The result is an exit code.
int run_helper_starter(const std::string& home);

}  // namespace minke::os
