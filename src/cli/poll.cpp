#include "cli/poll.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "cli/complain.h"
#include "cli/systemd_units.h"
#include "engine/slurm/find.h"
#include "engine/slurm/slurm_engine.h"
#include "os/files.h"

namespace minke::cli {
namespace {

using namespace std::chrono_literals;

// Root is believed by all users; beside that it needs no rights.
constexpr char kUnit[] = R"(# /etc/systemd/system/minke-poll.service
[Unit]
Description=Minke's poller, which asks slurmctld for all users of this machine
Wants=munge.service
After=munge.service network-online.target

[Service]
ExecStart={program} poll
Environment=MINKE_CLUSTER=slurm
RuntimeDirectory=minke-poll
RuntimeDirectoryMode=0755
Restart=on-failure
RestartSec=10
TasksMax=64
CapabilityBoundingSet=
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=read-only
PrivateTmp=yes
PrivateDevices=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
LockPersonality=yes
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
)";

}  // namespace

int poll_cluster(const PollCommand& command) {
  if (command.print_unit) return print_unit(kUnit);
  if (::geteuid() != 0)
    return complain(Error{EPERM, "minke poll runs as root: users believe only root's answers"});
  auto found = engine::slurm::find_slurm();
  if (!found) return complain(found.error());
  if (!found->has_value())
    return complain(Error{ENOENT, "no Slurm is meant here: set MINKE_CLUSTER=slurm where there is one"});
  const std::string directory = engine::slurm::polled_directory(engine::slurm::key_of((*found)->place));
  if (const Status made = os::make_directories(directory, 0755); !made) return complain(made.error());
  const auto answers = engine::slurm::SharedAnswers::of_poller(directory);
  engine::slurm::SlurmEngine cluster((*found)->place, (*found)->period, answers);
  // An answer is asked for again when a quarter of its time is left.
  const auto pause = std::clamp<std::chrono::milliseconds>((*found)->period / 8, 500ms, 5s);
  for (std::vector<std::string> before;; std::this_thread::sleep_for(pause)) {
    const std::vector<std::string> shared = cluster.poll();
    if (shared != before || command.once) {
      std::string list;
      for (const std::string& kind : shared) list += (list.empty() ? "" : ", ") + kind;
      std::printf("for all users, in %s: %s\n", directory.c_str(), list.empty() ? "nothing" : list.c_str());
      std::fflush(stdout);
      before = shared;
    }
    if (command.once) return 0;
  }
}

}  // namespace minke::cli
