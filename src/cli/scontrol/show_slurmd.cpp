// scontrol show slurmd: the node that the command runs on, as its daemon sees it. Outside of a job that is
// the machine's first node.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "api/daemon.pb.h"
#include "api/job_filter.pb.h"
#include "cli/scontrol/commands.h"
#include "engine/fetch.h"
#include "model/cluster.pb.h"
#include "model/step_record.pb.h"
#include "text/hostlist.h"
#include "text/state.h"
#include "view/output.h"
#include "view/text.h"

namespace minke::cli {
namespace {

// The steps with tasks on the node: "12.0,13.batch"; NONE.
std::string names_of_steps(const engine::StepRecords& steps, const std::string& node) {
  std::string out;
  for (const model::StepRecord* step : steps.records) {
    const auto hosts = text::expand_hostlist(step->node_list());
    if (!hosts || std::find(hosts->begin(), hosts->end(), node) == hosts->end()) continue;
    if (!out.empty()) out += ',';
    out += std::to_string(step->job_id()) + "." + text::step_name(step->kind(), step->step_id());
  }
  return out.empty() ? "NONE" : out;
}

}  // namespace

int Scontrol::show_slurmd() {
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  const auto fail = [&](const Error& error) {
    return complain("slurm_load_slurmd_status error: " + error.message);
  };
  const auto nodes = engine::fetch_nodes(*cluster);
  if (!nodes) return fail(nodes.error());
  const auto steps = engine::fetch_steps(*cluster, api::JobFilter());
  if (!steps) return fail(steps.error());
  const auto administration = cluster->administration();
  if (!administration) return fail(administration.error());
  const auto status = (*administration)->status();
  if (!status) return fail(status.error());

  const char* own = std::getenv("SLURMD_NODENAME");
  auto found = std::find_if(nodes->records.begin(), nodes->records.end(),
                            [&](const auto* node) { return own == nullptr || node->name() == own; });
  if (found == nodes->records.end()) return complain(std::string("there is no node ") + own);
  const model::NodeRecord& node = **found;
  const auto time = [&](int64_t when) {
    std::string out;
    view::append_time(out, when, context(nodes->now), "NONE");
    return out;
  };
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value) {
    fmt::format_to(std::back_inserter(out), "{:<24} = {}\n", name, value);
  };
  line("Active Steps", names_of_steps(*steps, node.name()));
  line("Actual CPUs", std::to_string(node.cpus()));
  line("Actual Boards", std::to_string(std::max(1u, node.boards())));
  line("Actual sockets", std::to_string(node.sockets()));
  line("Actual cores", std::to_string(node.cores_per_socket()));
  line("Actual threads per core", std::to_string(node.threads_per_core()));
  line("Actual real memory", std::to_string(node.memory_mib()) + " MB");
  line("Actual temp disk space", std::to_string(node.tmp_disk_mib()) + " MB");
  line("Boot time", time(node.daemon_start_time()));
  line("Hostname", node.name());
  line("Last slurmctld msg time", time(nodes->now));
  line("Slurmd PID", std::to_string(status->launcher_pid()));
  line("Version", node.version());
  view::write_out(out);
  return 0;
}

}  // namespace minke::cli
