// scontrol write config: writes the configuration as a slurm.conf, for a real Slurm that
// takes over the cluster.
//
// What is not set, and what no slurm.conf can set, is written as a comment. A file is never overwritten: the
// time is part of its name, as in Slurm.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "api/field.pb.h"
#include "api/machine.pb.h"
#include "cli/scontrol/commands.h"
#include "engine/fetch.h"
#include "model/cluster.pb.h"
#include "text/hostlist.h"
#include "view/output.h"
#include "view/slurm_conf_lines.h"
#include "view/text.h"

namespace minke::cli {
namespace {

using model::NodeRecord;
using model::PartitionRecord;

constexpr std::string_view kNoParameters[] = {"BOOT_TIME",   "HASH_VAL",   "MULTIPLE_SLURMD",
                                              "NEXT_JOB_ID", "SLURM_CONF", "SLURM_VERSION"};

// "120 sec" is 120 in the file.
std::string without_unit(const std::string& value) {
  const size_t space = value.find(' ');
  for (std::string_view unit : {" sec", " usec", " min", " nodes/min", " percent"})
    if (space != std::string::npos && value.substr(space) == unit) return value.substr(0, space);
  return value;
}

void append_parameter(std::string& out, const api::Field& field) {
  const bool derived =
      std::find(std::begin(kNoParameters), std::end(kNoParameters), field.name()) != std::end(kNoParameters);
  const bool unset = field.value().empty() || field.value().starts_with("(null");
  const std::string value = unset ? "" : without_unit(field.value());
  out += derived || unset ? "#" : "";
  // "SlurmctldHost[0]" is SlurmctldHost in the file.
  out += field.name().substr(0, field.name().find('[')) + "=";
  out += (value.find(' ') == std::string::npos ? value : '"' + value + '"') + "\n";
}

// Nodes that are alike share a line, in the order of the first of each kind.
void append_nodes(std::string& out, const std::vector<const NodeRecord*>& nodes) {
  std::vector<std::pair<std::string, std::vector<std::string>>> kinds;
  for (const NodeRecord* node : nodes) {
    const std::string properties = view::node_properties(*node);
    auto kind = std::find_if(kinds.begin(), kinds.end(),
                             [&](const auto& known) { return known.first == properties; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {properties, {}});
    kind->second.push_back(node->name());
  }
  for (const auto& [properties, names] : kinds)
    fmt::format_to(std::back_inserter(out), "NodeName={} {}\n", text::compress_hostlist(names), properties);
}

}  // namespace

int Scontrol::write_configuration(std::string path) {
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  const auto fail = [&](const std::string& why) { return complain("slurm_write_ctl_conf error: " + why); };
  const auto config = cluster->configuration();
  if (!config) return fail(config.error().message);
  const auto nodes = engine::fetch_nodes(*cluster);
  const auto partitions = engine::fetch_partitions(*cluster);
  if (!nodes || !partitions) return fail((nodes ? partitions.error() : nodes.error()).message);

  std::string time;
  view::append_time(time, nodes->now, context(nodes->now), "");
  std::string out = "# slurm.conf of " + time + ", as Minke is configured\n";
  for (const api::Field& field : config->values()) append_parameter(out, field);
  out += "\n";
  append_nodes(out, nodes->records);
  for (const PartitionRecord* partition : partitions->records) view::append_partition_line(out, *partition);

  path = (path.empty() ? "slurm.conf" : path) + "." + time;
  if (const Status saved = save(path, out, 0644); !saved) return fail(saved.error().message);
  view::write_out("Slurm config saved to " + path + "\n");
  return 0;
}

}  // namespace minke::cli
