#include "view/sinfo.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "model/cluster.pb.h"
#include "text/number.h"
#include "view/node_text.h"

namespace minke::view {
namespace {

using model::NodeRecord;
using model::PartitionRecord;

// %all, with the blanks that Slurm puts after the capital letters.
constexpr const char* kAllFields =
    "%a|%b|%c|%d|%e|%f|%g|%h|%l|%m|%n|%o|%p|%r|%s|%t|%u|%v|%w|%z|%A |%B |%C |%D |%E |%F |%G |%H |%I |%L |%M "
    "|%N |"
    "%O |%P |%R |%S |%T |%U |%V |%X |%Y |%Z ";

// Fields by which nodes are told apart when shown. Others are counts, or numbers that a line can span.
constexpr std::string_view kPartitionFields[] = {
    "available",    "groups",    "oversubscribe", "share",       "time",
    "prioritytier", "root",      "size",          "defaulttime", "priorityjobfactor",
    "preemptmode",  "partition", "partitionname", "allocnodes",  "maxcpuspernode"};
constexpr std::string_view kNodeFields[] = {
    "features_act", "features", "nodehost", "nodeaddr",  "statecompact", "user",
    "version",      "reason",   "gres",     "timestamp", "statelong",    "userlong",
    "allocmem",     "comment",  "extra",    "gresused",  "port",         "statecomplete"};
constexpr std::string_view kExactFields[] = {
    "cpus",     "disk",    "freemem", "memory", "weight", "socketcorethread",
    "cpusload", "sockets", "cores",   "threads"};

constexpr std::string_view kStateWords[] = {
    "alloc",    "allocated",  "cloud",    "comp",         "completing",    "down",        "drain",
    "drained",  "draining",   "drng",     "error",        "fail",          "future",      "futr",
    "idle",     "maint",      "mix",      "mixed",        "no_respond",    "npc",         "perfctrs",
    "planned",  "power_down", "power_up", "powered_down", "powering_down", "powering_up", "reboot",
    "reserved", "resv",       "unk",      "unknown"};

bool contains(const auto& values, std::string_view value) {
  return std::find(std::begin(values), std::end(values), value) != std::end(values);
}

// Drain goes beside a base state: an idle node that drains is both "idle" and "drain", as in sinfo.
bool is_in_state(const NodeRecord& node, std::string_view word) {
  ShownNodeState state = sinfo_state(node);
  bool busy = state.base == NodeBaseState::kAllocated || state.base == NodeBaseState::kMixed;
  if (word == "alloc" || word == "allocated") return busy;  // a mixed node is an allocated one, too
  if (word == "mix" || word == "mixed") return state.base == NodeBaseState::kMixed;
  if (word == "idle") return state.base == NodeBaseState::kIdle;
  if (word == "down") return state.base == NodeBaseState::kDown;
  if (word == "drain") return state.drain;
  if (word == "fail") return state.fail;
  if (word == "maint") return state.maintenance;
  if (word == "resv" || word == "reserved") return state.reserved;
  if (word == "future" || word == "futr") return state.future;
  if (word == "drained") return state.drain && !busy;
  if (word == "draining" || word == "drng") return state.drain && busy;
  return false;
}

bool is_selected(const NodeRecord& node, const SinfoOptions& options) {
  if (options.filter_nodes && !contains(options.nodes, node.name()) &&
      !contains(options.nodes, node.host_name()))
    return false;
  if (node.state() == model::NODE_FUTURE) return false;
  if (options.dead)
    return false;  // nodes that do not respond: here all do, those that are set down among them
  if (options.list_reasons && node.reason().empty()) return false;
  if (options.states.empty()) return true;
  return std::any_of(options.states.begin(), options.states.end(),
                     [&](const std::vector<std::string>& words) {
                       return std::all_of(words.begin(), words.end(),
                                          [&](const std::string& word) { return is_in_state(node, word); });
                     });
}

struct Position {
  size_t partition = 0;
  size_t node = 0;
};

int compare_lines(char letter, bool natural, const NodeLine& left, const NodeLine& right,
                  const Position& left_at, const Position& right_at) {
  auto order = [](auto a, auto b) { return a < b ? -1 : b < a ? 1 : 0; };
  auto number = [&](auto member) {
    auto sum = [&](const NodeLine& line) {
      return line.nodes.empty() ? decltype((line.nodes.front()->*member)())()
                                : (line.nodes.front()->*member)();
    };
    return order(sum(left), sum(right));
  };
  switch (letter) {
    case 'P':
    case 'R':
      return natural ? order(left_at.partition, right_at.partition)
                     : order(left.partition->name(), right.partition->name());
    case 't':
    case 'T': {
      auto rank = [](const NodeLine& line) {
        return line.nodes.empty() ? 0 : state_order(sinfo_state(*line.nodes.front()));
      };
      return order(rank(left), rank(right));
    }
    case 'N':
    case 'n':
      return order(left_at.node, right_at.node);
    case 'D':
      return order(left.nodes.size(), right.nodes.size());
    case 'c':
      return number(&NodeRecord::cpus);
    case 'd':
      return number(&NodeRecord::tmp_disk_mib);
    case 'e':
      return number(&NodeRecord::free_memory_mib);
    case 'm':
      return number(&NodeRecord::memory_mib);
    case 'w':
      return number(&NodeRecord::weight);
    case 'O':
      return number(&NodeRecord::cpu_load);
    case 'H':
      return number(&NodeRecord::reason_time);
    case 'E': {
      auto reason = [](const NodeLine& line) {
        return line.nodes.empty() ? std::string_view() : std::string_view(line.nodes.front()->reason());
      };
      return order(reason(left), reason(right));
    }
    case 'l':
      return order(left.partition->max_time_minutes(), right.partition->max_time_minutes());
    case 'a':
      return order(left.partition->state(), right.partition->state());
    case 'p':
      return order(left.partition->priority_tier(), right.partition->priority_tier());
    default:
      return 0;
  }
}

}  // namespace

Result<std::vector<std::vector<std::string>>> parse_node_states(std::string_view text) {
  std::vector<std::vector<std::string>> result;
  if (text::equals_ignoring_case(text, "all")) return result;
  for (std::string_view item : text::split(text, ',')) {
    std::vector<std::string> words;
    for (std::string_view word : text::split(item, '&')) {
      std::string lower = text::lower_case(word);
      if (!contains(kStateWords, lower)) return failure("Bad state string: \"" + std::string(word) + "\"");
      words.push_back(std::move(lower));
    }
    result.push_back(std::move(words));
  }
  return result;
}

Table<NodeLine> node_table(const SinfoOptions& options, std::span<const NodeRecord* const> nodes,
                           std::span<const PartitionRecord* const> partitions,
                           std::vector<std::string>& problems) {
  if (options.long_format && !text::equals_ignoring_case(*options.long_format, "all"))
    return Table<NodeLine>::from_long_format(node_fields(), *options.long_format, problems);
  std::string format;
  if (options.long_format) {
    format = kAllFields;
  } else if (options.format) {
    format = *options.format == "%all" ? kAllFields : *options.format;
  } else {
    size_t partition_width = 9;
    for (const PartitionRecord* partition : partitions)
      partition_width =
          std::max(partition_width, partition->name().size() + (partition->is_default() ? 1 : 0));
    size_t node_width = 9;
    for (const NodeRecord* node : nodes) node_width = std::max(node_width, node->name().size());
    std::string partition = std::to_string(partition_width) + "P";
    if (options.summarize) {
      format = "%" + partition + " %.5a %.10l %.16F %N";
    } else if (options.list_reasons) {
      format = options.long_list ? "%20E %12U %19H %6t %N" : "%20E %9u %19H %N";
    } else if (options.node_oriented) {
      format = "%" + std::to_string(node_width) + "N %.6D %." + partition;
      format += options.long_list ? " %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E" : " %6t";
    } else {
      format = "%" + partition;
      format +=
          options.long_list ? " %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N" : " %.5a %.10l %.6D %.6t %N";
    }
  }
  return Table<NodeLine>::from_short_format(node_fields(), format, problems);
}

std::vector<NodeLine> node_lines(const SinfoOptions& options, const Table<NodeLine>& table,
                                 std::span<const NodeRecord* const> nodes,
                                 std::span<const PartitionRecord* const> partitions,
                                 const DisplayContext& context) {
  std::vector<const TableField<NodeLine>*> partition_keys, node_keys;
  for (const auto& field : node_fields()) {
    if (!table.shows(field.name)) continue;
    if (contains(kPartitionFields, field.name)) partition_keys.push_back(&field);
    if (contains(kNodeFields, field.name) || (options.exact && contains(kExactFields, field.name)))
      node_keys.push_back(&field);
  }

  std::vector<NodeLine> lines;
  std::vector<Position> positions;
  std::unordered_map<std::string, size_t> line_by_key;
  for (size_t p = 0; p < partitions.size(); ++p) {
    const PartitionRecord& partition = *partitions[p];
    if (!options.partitions.empty() && !contains(options.partitions, partition.name())) continue;
    if (partition.hidden() && !options.all && options.partitions.empty()) continue;
    NodeLine probe{&partition, {}};
    std::string partition_key;
    for (const auto* field : partition_keys) {
      field->append(probe, context, partition_key);
      partition_key += '\n';
    }
    bool found = false;
    for (size_t n = 0; n < nodes.size(); ++n) {
      const NodeRecord& node = *nodes[n];
      if (!contains(node.partitions(), partition.name()) || !is_selected(node, options)) continue;
      found = true;
      probe.nodes = {&node};
      std::string key = partition_key;
      for (const auto* field : node_keys) {
        field->append(probe, context, key);
        key += '\n';
      }
      if (options.node_oriented) key += partition.name() + "\n" + node.name();
      auto [at, added] = line_by_key.try_emplace(std::move(key), lines.size());
      if (added) {
        lines.push_back(probe);
        positions.push_back({p, n});
      } else {
        std::vector<const NodeRecord*>& members = lines[at->second].nodes;
        if (std::find(members.begin(), members.end(), &node) == members.end()) members.push_back(&node);
      }
    }
    if (found || options.node_oriented || options.list_reasons) continue;
    // A partition without such nodes has a line only where lines are of partitions.
    if (!table.shows("partition") && !table.shows("partitionname")) continue;
    if (line_by_key.try_emplace(std::move(partition_key), lines.size()).second) {
      lines.push_back({&partition, {}});
      positions.push_back({p, nodes.size()});
    }
  }

  std::string_view sort = options.sort            ? std::string_view(*options.sort)
                          : options.list_reasons  ? "-H"
                          : options.node_oriented ? "N,#P"
                                                  : "#P,-t";
  std::vector<size_t> order(lines.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t left, size_t right) {
    bool descending = false;
    bool natural = false;
    for (char c : sort) {
      if (c == ',' || c == '+' || c == '-' || c == '#') {
        descending = c == '-' || (c == '#' && descending);
        natural = c == '#';
        continue;
      }
      int result = compare_lines(c, natural, lines[left], lines[right], positions[left], positions[right]);
      if (result != 0) return descending ? result > 0 : result < 0;
      descending = natural = false;
    }
    return false;
  });
  std::vector<NodeLine> sorted;
  sorted.reserve(lines.size());
  for (size_t at : order) sorted.push_back(std::move(lines[at]));
  return sorted;
}

}  // namespace minke::view
