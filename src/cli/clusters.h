// -M, --clusters and SLURM_CLUSTERS: there is one cluster, and it has a name. One thread; blocking.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/client.h"

namespace minke::cli {

std::optional<std::string> clusters_from_environment();

// Whether all clusters named are this one ("all" and "-1" are, too). False after an error message as Slurm's.
bool check_clusters(Client& client, std::string_view command, const std::optional<std::string>& clusters);

// "CLUSTER: name" and a newline where clusters were named; else nothing.
std::string cluster_line(Client& client, const std::optional<std::string>& clusters);

}  // namespace minke::cli
