#include "cli/agent.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "cli/complain.h"
#include "cli/systemd_units.h"
#include "config/cluster_choice.h"
#include "config/configuration.h"
#include "engine/embedded/watching/storage_keeping.h"
#include "engine/slurm/agent.h"
#include "engine/slurm/find.h"
#include "engine/slurm/quota_holds.h"
#include "engine/slurm/slurm_engine.h"
#include "node/discovery.h"
#include "os/event_loop.h"
#include "os/minke_home.h"
#include "os/user_id.h"

namespace minke::cli {
namespace {

// It reads what processes of all users use, and other than by its one port nothing reaches it.
constexpr char kUnit[] = R"(# /etc/systemd/system/minke-agent.service
[Unit]
Description=Minke's agent, which measures Slurm's jobs on this node
Wants=munge.service
After=munge.service slurmd.service network-online.target

[Service]
ExecStart={program} agent
StateDirectory=minke-agent
StateDirectoryMode=0700
Restart=on-failure
RestartSec=5
TasksMax=128
MemoryMax=256M
CapabilityBoundingSet=CAP_SYS_PTRACE CAP_DAC_READ_SEARCH CAP_SETUID CAP_SETGID
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
LockPersonality=yes
RestrictRealtime=yes
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
)";

// Where it also keeps storage it reads and removes people's files, with their rights.
constexpr char kKeeperUnit[] = R"(# /etc/systemd/system/minke-agent.service
[Unit]
Description=Minke's agent, which measures Slurm's jobs on this node and keeps the tiers of storage
Wants=munge.service
After=munge.service slurmd.service network-online.target remote-fs.target

[Service]
ExecStart={program} agent
Restart=on-failure
RestartSec=5
TasksMax=1024
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
)";

// What the daemon of a cluster of one machine does for its tiers goes on here once a Slurm has taken the
// daemon's place ([cluster] engine = "slurm"): snapshots, the purge of scratch, counting. Which tiers this
// machine keeps the helpers decide, by [storage] keeper. Unset: there is nothing to keep.
std::optional<config::Configuration> storage_to_keep() {
  const std::string home = os::minke_home_path();
  const std::string path = os::configuration_path(home);
  if (::geteuid() != 0 || path.empty() ||
      config::load_cluster_choice(path).engine != config::ClusterEngine::kSlurm)
    return std::nullopt;
  auto configuration = config::load_configuration(home, path, node::discover_machine());
  if (!configuration) {
    std::fprintf(stderr, "minke agent: storage is not kept: %s\n", configuration.error().message.c_str());
    return std::nullopt;
  }
  if (configuration->storage.profile.empty()) return std::nullopt;
  return std::move(*configuration);
}

// In a thread with a loop of its own, until the process ends.
void keep_storage(const config::Configuration& configuration) {
  std::thread([configuration] {
    os::EventLoop loop;
    engine::StorageKeeping keeping(loop, configuration);
    keeping.start();
    loop.run();
  }).detach();
}

// A cluster for one thread, which nobody shares answers with.
Result<std::unique_ptr<engine::slurm::SlurmEngine>> own_cluster() {
  auto found = engine::slurm::find_slurm();
  if (!found) return failure(found.error());
  if (!found->has_value())
    return failure("no Slurm is meant here: set MINKE_CLUSTER=slurm where there is one", ENOENT);
  return std::make_unique<engine::slurm::SlurmEngine>((*found)->place, (*found)->period,
                                                      engine::slurm::SharedAnswers(""));
}

// In a thread, until the process ends.
Status hold_by_quota(const config::Configuration& configuration, const std::string& directory) {
  auto cluster = own_cluster();
  if (!cluster) return failure(cluster.error());
  std::thread([configuration, directory, owned = std::move(*cluster)] {
    engine::slurm::QuotaHolds(*owned, configuration, directory).run();
  }).detach();
  return {};
}

}  // namespace

int agent(const AgentCommand& command) {
  if (command.print_unit) return print_unit(storage_to_keep() ? kKeeperUnit : kUnit);
  engine::slurm::AgentOptions options{.address = command.address,
                                      .port = command.port,
                                      .munge_socket = command.munge_socket,
                                      .period = std::chrono::seconds(command.seconds),
                                      .sees_all = {},
                                      .gpus = {},
                                      .cluster = nullptr,
                                      .directory = command.directory,
                                      .collect_period = std::chrono::seconds(command.collect_seconds)};
  if (!command.gpu_library.empty()) options.gpus.library = command.gpu_library;
  for (const std::string& user : command.sees_all) {
    const auto uid = os::user_id_of(user);
    if (!uid) return complain(uid.error());
    options.sees_all.push_back(*uid);
  }
  const auto storage = storage_to_keep();
  if (storage) keep_storage(*storage);
  std::unique_ptr<engine::slurm::SlurmEngine> cluster;
  if (command.collect) {
    auto own = own_cluster();
    if (!own) return complain(own.error());
    cluster = std::move(*own);
    options.cluster = cluster.get();
    if (storage && storage->storage.hold_jobs) {
      if (const Status holds = hold_by_quota(*storage, command.directory); !holds)
        return complain(holds.error());
    }
  }
  return engine::slurm::run_agent(options);
}

}  // namespace minke::cli
