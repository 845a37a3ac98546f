// The options of sinfo, and the table that answers it: nodes, grouped by their common values.
//
// Nodes whose shown values are equal share a line; numbers such as CPUs and memory may differ within one
// unless
// --exact asks otherwise, and then read as "2+" or "0.08-0.30". cli/sinfo.cpp fetches and writes; this is
// pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "view/document/document.h"
#include "view/table.h"
#include "view/text.h"

namespace minke::model {
class NodeRecord;
class PartitionRecord;
}  // namespace minke::model

namespace minke::view {

// The nodes of one partition that share a line; without nodes the partition has no matching ones.
struct NodeLine {
  const model::PartitionRecord* partition = nullptr;
  std::vector<const model::NodeRecord*> nodes;
};

struct SinfoOptions {
  std::optional<std::string> format;       // -o
  std::optional<std::string> long_format;  // -O
  std::optional<std::string> sort;
  std::vector<std::string> partitions;
  std::vector<std::string> nodes;                // host names; with filter_nodes
  std::vector<std::vector<std::string>> states;  // any of these; each a list of words that must all hold
  std::optional<std::string> clusters;           // -M
  bool filter_nodes = false;
  bool all = false;
  bool dead = false;
  bool responding = false;
  bool exact = false;
  bool long_list = false;
  bool node_oriented = false;
  bool list_reasons = false;
  bool reservations = false;  // -T: shows these, not nodes
  bool summarize = false;
  bool no_header = false;
  bool verbose = false;
  unsigned iterate_seconds = 0;
  std::optional<DocumentFormat> document;  // --json, --yaml
};

std::span<const TableField<NodeLine>> node_fields();

struct LineCounts {
  uint64_t allocated = 0, idle = 0, other = 0, total = 0;
};
LineCounts count_nodes(const NodeLine& line);
LineCounts count_cpus(const NodeLine& line);

// Splits a --states list ("idle,drain", "idle&drain", "all"). Fails on an unknown state.
Result<std::vector<std::vector<std::string>>> parse_node_states(std::string_view text);

// The default formats' widths depend on the longest names.
Table<NodeLine> node_table(const SinfoOptions& options, std::span<const model::NodeRecord* const> nodes,
                           std::span<const model::PartitionRecord* const> partitions,
                           std::vector<std::string>& problems);

std::vector<NodeLine> node_lines(const SinfoOptions& options, const Table<NodeLine>& table,
                                 std::span<const model::NodeRecord* const> nodes,
                                 std::span<const model::PartitionRecord* const> partitions,
                                 const DisplayContext& context);

}  // namespace minke::view
