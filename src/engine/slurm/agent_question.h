// To whom a cluster's configuration says that agents are asked: at which port, whose answers are believed, by
// which munge. Pure; any thread.
#pragma once

#include <optional>
#include <string>

#include "api/machine.pb.h"
#include "engine/slurm/agent_client.h"

namespace minke::engine::slurm {

// None: the cluster has no agents that can be believed. Without addresses.
std::optional<AgentQuestion> agent_question(const api::ConfigReply& configuration, uint16_t port);
std::string munge_socket_of(const api::ConfigReply& configuration);
// Where slurmctld runs; empty: it is not known.
std::string head_address_of(const api::ConfigReply& configuration);

}  // namespace minke::engine::slurm
