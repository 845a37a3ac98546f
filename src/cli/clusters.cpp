#include "cli/clusters.h"

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "base/version.h"
#include "engine/fetch.h"
#include "model/cluster.pb.h"
#include "model/job_terms.pb.h"
#include "text/list.h"
#include "text/number.h"
#include "view/output.h"

namespace minke::cli {

bool check_clusters(engine::Engine& cluster, std::string_view command,
                    const std::optional<std::string>& clusters) {
  if (!clusters) return true;
  const std::string own = engine::fetch_cluster_name(cluster);
  std::vector<std::string> names = text::split_list(*clusters);
  if (names.empty()) names.emplace_back();
  if (names.size() == 1 && (names[0] == "-1" || text::equals_ignoring_case(names[0], "all"))) return true;
  const size_t named = names.size();
  std::erase_if(names,
                [&](const std::string& name) { return text::equals_ignoring_case(text::trim(name), own); });
  if (names.empty()) return true;
  if (const auto self = cluster.identity(); self && self->product == "Slurm") {
    view::print_error(command, "this is the cluster " + own + "; MINKE_CLUSTER=slurm:" + names[0] +
                                   " asks another one of the same Slurm");
    return false;
  }
  for (const std::string& name : names)
    view::print_error(command, "No cluster '" + name + "' known by database.");
  if (names.size() < named) return true;  // the others are told, and left out
  view::print_error(command,
                    "'" + *clusters +
                        "' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr "
                        "list clusters' to see available clusters.");
  const bool submits = command == "sbatch" || command == "salloc" || command == "srun";
  if (spoken_release() >= kSlurm24 && !submits)
    std::fprintf(stderr, "%s: fatal: Could not get cluster information\n", std::string(command).c_str());
  return false;
}

std::optional<int> answer_before_submission(engine::Engine& cluster, std::string_view command,
                                            const submit::JobRequest& request) {
  if ((request.given.contains("clusters") || request.given.contains("cluster")) &&
      !check_clusters(cluster, command, request.clusters))
    return 1;
  if (!request.lists_gres) return std::nullopt;
  const auto nodes = engine::fetch_nodes(cluster);
  if (!nodes) {
    view::print_error(command, nodes.error().message);
    return 1;
  }
  std::set<std::string> names;
  for (const model::NodeRecord* node : nodes->records)
    for (const model::Gres& gres : node->gres()) names.insert(gres.name());
  std::string out = names.empty() ? "No gres is configured\n" : "Valid gres options are:\n";
  for (const std::string& name : names) out += name + "[[:type]:count]\n";
  view::write_out(out);
  return 0;
}

std::string cluster_line(engine::Engine& cluster, const std::optional<std::string>& clusters) {
  return clusters ? "CLUSTER: " + engine::fetch_cluster_name(cluster) + "\n" : std::string();
}

}  // namespace minke::cli
