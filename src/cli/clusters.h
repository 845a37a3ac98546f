// -M, --clusters and SLURM_CLUSTERS: there is one cluster, and it has a name. One thread; blocking.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "options/option.h"
#include "submit/job_request.h"

namespace minke::cli {

// -M in a table of options: {{"clusters", 'M', …, "SLURM_CLUSTERS"}, clusters<&Asked::clusters>}.
struct TakeClusters {
  void operator()(std::optional<std::string>& clusters, const options::Given& given) const {
    if (!given.from_environment || !given.text().empty()) clusters = given.text();
  }
};
template <auto... kMembers>
constexpr options::MemberSetter<TakeClusters, kMembers...> clusters;

// Whether all clusters named are this one (so are "all" and "-1"). Prints Slurm's message before false.
bool check_clusters(engine::Engine& cluster, std::string_view command,
                    const std::optional<std::string>& clusters);

// Returns "CLUSTER: name" and a newline if clusters were named; else nothing.
std::string cluster_line(engine::Engine& cluster, const std::optional<std::string>& clusters);

// The steps of sbatch, salloc and srun before they submit: checks --clusters, and answers --gres=help.
// Returns an exit status if nothing is to be submitted.
std::optional<int> answer_before_submission(engine::Engine& cluster, std::string_view command,
                                            const submit::JobRequest& request);

}  // namespace minke::cli
