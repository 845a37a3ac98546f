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

// Whether all clusters named are this one ("all" and "-1" are, too). False after an error message as Slurm's.
bool check_clusters(engine::Engine& cluster, std::string_view command,
                    const std::optional<std::string>& clusters);

// "CLUSTER: name" and a newline where clusters were named; else nothing.
std::string cluster_line(engine::Engine& cluster, const std::optional<std::string>& clusters);

// What sbatch, salloc and srun do before they submit: check --clusters, and answer --gres=help. An exit
// status where nothing is to be submitted.
std::optional<int> answer_before_submission(engine::Engine& cluster, std::string_view command,
                                            const submit::JobRequest& request);

}  // namespace minke::cli
