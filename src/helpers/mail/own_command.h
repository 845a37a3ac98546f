// Messages about jobs to commands (--mail-user=NAME@command): a program and its arguments that the job's
// owner has named in ~/.config/minke/commands.toml.
//
// The program is executed as it stands there, without a shell; variables tell it of the job, so no text of a
// job's is ever a word of a command. It runs in its owner's home, with the owner's environment; its output is
// dropped. In a shared cluster it has a namespace of processes: what it leaves behind, wherever it hides,
// ends with it. It may have some processes and memory beside what its owner uses anyway. One thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "helpers/mail/by_owner.h"
#include "os/user_child.h"

namespace minke::helpers {

// "MINKE_JOB_ID=12", MINKE_JOB_NAME, _STATE and _EXIT_STATUS, as `minke wait --command` has them;
// MINKE_EVENT, MINKE_CLUSTER, and the mail's subject as MINKE_TEXT.
std::vector<std::string> command_variables(const MailContents& contents);

struct CommandPlace {
  std::string home;  // the cluster's
  bool shared = false;
};
// For a child that was just forked, in a shared cluster root's: starts the command with its owner's rights,
// waits for it, and ends it and what it started at the deadline.
DeliveryOutcome run_own_command(const OwnMessage& message, const os::Rights& rights,
                                const CommandPlace& place, std::chrono::steady_clock::time_point deadline);

}  // namespace minke::helpers
