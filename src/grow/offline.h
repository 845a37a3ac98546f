// Partitions without a network, on many machines: what holds the jobs of them to the cluster's own machines,
// and the proxy on the head by which they reach the hosts that [proxy] allows.
//
// Slurm's jobs have no network of their own. So the prolog has nftables reject what a user's processes send
// from there to anywhere but the machines of slurm.conf, as long as he has such a job there: his other jobs
// on that node are held, too. If that cannot be done, the prolog fails, and the job does not start. What
// root's programs send for him is not held. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/configuration.h"
#include "grow/plan.h"
#include "grow/slurm_files.h"

namespace minke::grow {

std::vector<std::string> offline_partitions(const Grown& grown);
bool has_proxy(const config::Configuration& config, const Grown& grown);

// Parts of the scripts; empty: there are none. By this word they are known again.
inline constexpr char kOfflineTable[] = "minke_offline";
std::string offline_prolog(const Grown& grown);
std::string offline_epilog(const Grown& grown);
std::string offline_task_prolog(const config::Configuration& config, const Grown& grown);
// Of the head's alone: makes the proxy's files anew, and becomes the proxy.
inline constexpr char kProxyScript[] = "/etc/slurm/minke-proxy.sh";
std::string proxy_script(const config::Configuration& config);

std::vector<std::string> offline_packages(const config::Configuration& config, const Grown& grown,
                                          bool is_head);
Step offline_step(const Machine& machine);
Step proxy_step(const Machine& head, uint32_t port);
// It serves the machines that slurm.conf names now. Nothing where there is none.
std::string restart_proxy_script(bool of_undo);

}  // namespace minke::grow
