// Starts processes on behalf of another process of root's, which may itself be denied everything that they
// need: under systemd the daemon sees a read-only system without network, and the programs that it starts
// (prologs, triggers, the mailer, the keeper of storage ...) belong to a unit of their own.
//
// The starter trusts its clients: its socket is in the cluster's home, which is root's, and it answers only
// its own user. So the daemon's unit limits an attacker who exploits a bug of the daemon without running code
// in it; an attacker who runs code in the daemon can ask the starter.
//
// A request is one packet: the number of arguments, the log's path, the arguments and the environment, each
// ended by NUL; with it come standard output and, optionally, standard input. The answer is a dot, followed
// by an error if there is one.
#pragma once

#include <string>

#include "base/result.h"
#include "os/detached_program.h"

namespace minke::os {

std::string helper_starter_path(const std::string& home);

// From now on start_detached() asks the starter that listens there. Call it before there are threads.
void use_helper_starter(std::string path);
bool has_helper_starter();

// Waits for the answer, at most some seconds.
Status ask_helper_starter(const DetachedProgram& program);

// Serves until it is killed; one thread. Tells systemd when it listens. Returns an exit code.
int run_helper_starter(const std::string& home);

}  // namespace minke::os
