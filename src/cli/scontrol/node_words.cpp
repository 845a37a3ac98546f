// scontrol create and delete nodename=…. A cluster's nodes are those that its configuration declares, so both
// answer as a Slurm does whose table of nodes is full (MaxNodeCount), and whose nodes are no dynamic ones.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/scontrol/commands.h"
#include "engine/fetch.h"
#include "model/cluster.pb.h"
#include "text/hostlist.h"
#include "text/number.h"

namespace minke::cli {
namespace {

constexpr std::string_view kNumbers[] = {"boards",  "corespersocket", "cpus",    "port",
                                         "procs",   "realmemory",     "sockets", "threadspercore",
                                         "tmpdisk", "weight"};

// "NAME=VALUE" with a name in small letters. Fails where Slurm cannot read the line.
struct NodeLine {
  std::string names, state;
};
std::optional<NodeLine> read_node_line(const std::vector<std::string>& words) {
  NodeLine line;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals + 1 == word.size()) return std::nullopt;
    const std::string name = text::lower_case(word.substr(0, equals));
    const std::string value = word.substr(equals + 1);
    const bool is_number = std::find(std::begin(kNumbers), std::end(kNumbers), name) != std::end(kNumbers);
    if (is_number && !text::parse_unsigned(value, UINT64_MAX)) return std::nullopt;
    if (name.starts_with("node")) line.names = value;
    if (name == "state") line.state = text::lower_case(value);
  }
  return line;
}

bool is_known(const engine::NodeRecords& answer, const std::string& name) {
  return std::any_of(answer.records.begin(), answer.records.end(),
                     [&](const model::NodeRecord* node) { return node->name() == name; });
}

}  // namespace

bool Scontrol::names_nodes(const std::string& word) {
  const std::string name = text::lower_case(word.substr(0, word.find('=')));
  return name.size() >= 3 && std::string_view("nodename").starts_with(name);
}

int Scontrol::create_nodes(const Words& words) {
  const Words arguments(words.begin() + 1, words.end());
  const auto refuse = [&](const std::string& detail, const std::string& reason) {
    return complain("scontrol: error: " + detail + "\nError creating node(s): " + reason);
  };
  std::string joined;
  for (const std::string& word : arguments) joined += (joined.empty() ? "" : " ") + word;
  const auto line = read_node_line(arguments);
  const auto names = line ? text::expand_hostlist(line->names) : failure("");
  if (!names) return refuse("Failed to parse nodeline '" + joined + "'", "Unspecified error");
  if (line->state != "future" && line->state != "cloud" && line->state != "external") {
    return refuse("Only State=FUTURE, CLOUD, or EXTERNAL allowed for nodes created by scontrol",
                  "Invalid node state specified");
  }
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  const auto answer = engine::fetch_nodes(*cluster);
  if (!answer) return complain("scontrol: error: " + answer.error().message);
  for (const std::string& name : *names) {
    constexpr std::string_view kExists = "Node already exists in the node table";
    if (is_known(*answer, name))
      return refuse(std::string(kExists) + " (" + name + ")", std::string(kExists));
  }
  const std::string full = "Unable to add node, node table is full";
  return refuse(full + " (" + (names->empty() ? "" : names->front()) + ")",
                full + " (minke.toml or slurm.conf declares nodes; then scontrol reconfigure)");
}

int Scontrol::remove_nodes(const std::string& named, const std::string& shown) {
  const size_t equals = named.find('=');
  if (equals == std::string::npos) {
    return complain("scontrol: error: Proper format is 'delete <ENTITY>=<ID>' or 'delete <ENTITY> <ID>'");
  }
  const std::string list = named.substr(equals + 1);
  const std::string invalid_name = "delete_node " + shown + ": Invalid node name specified";
  const auto names = text::expand_hostlist(list);
  if (list.empty()) return complain(invalid_name);
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  const auto answer = engine::fetch_nodes(*cluster);
  if (!answer) return complain("scontrol: error: " + answer.error().message);
  const std::string failed = "scontrol: error: failed to delete nodes " + list + "\n";
  if (!names) return complain(failed + invalid_name);
  for (const std::string& name : *names)
    if (!is_known(*answer, name)) return complain(failed + invalid_name);
  return complain(failed + "delete_node " + shown +
                  ": Invalid node state specified (the configuration declares it)");
}

}  // namespace minke::cli
