// Changes a slurm.conf that has been written long ago, and that somebody may have changed since: a node comes
// or goes, and nothing else is touched.
//
// A line that cannot be changed with certainty (several nodes with addresses of their own, a line that goes
// on behind a backslash) is an error that says what to do by hand. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace minke::grow {

std::vector<std::string> node_names(const std::string& conf);
// Those that a topology.conf has behind its switches.
std::vector<std::string> topology_nodes(const std::string& topology);
// The same topology.conf with the node behind `network_switch`; behind a new one where that is empty or not
// there. One that is there already is no error. Error: it is no tree of switches.
Result<std::string> topology_with_node(const std::string& topology, const std::string& name,
                                       const std::string& network_switch);
// One that is not there is no error. A switch with nothing behind it goes, too.
std::string topology_without_node(const std::string& topology, const std::string& name);
// `line` is the whole NodeName line. The node joins the default partition, and those that have all nodes. One
// that is there already is no error.
Result<std::string> with_node(const std::string& conf, const std::string& name, const std::string& line);
// One that is not there is no error.
Result<std::string> without_node(const std::string& conf, const std::string& name);

}  // namespace minke::grow
