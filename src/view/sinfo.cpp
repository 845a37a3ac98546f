#include "view/sinfo.h"

#include <algorithm>
#include <functional>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "model/cluster.pb.h"
#include "text/number.h"
#include "view/node_text.h"

namespace minke::view {
namespace {

using model::NodeRecord;
using model::PartitionRecord;

// %all, with the blanks that Slurm has after the capital letters.
constexpr const char* kAllFields =
    "%a|%b|%c|%d|%e|%f|%g|%h|%l|%m|%n|%o|%p|%r|%s|%t|%u|%v|%w|%z|%A |%B |%C |%D |%E |%F |%G |%H |%I |%L |%M "
    "|%N |"
    "%O |%P |%R |%S |%T |%U |%V |%X |%Y |%Z ";

// Fields whose values separate nodes when shown. Others are counts, or numbers that a line shows as a range.
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
    "alloc",      "allocated",    "block",         "blocked",        "cloud",    "comp",
    "completing", "down",         "drain",         "drained",        "draining", "drng",
    "error",      "external",     "dynamic_norm",  "dynamic_future", "fail",     "future",
    "futr",       "idle",         "inval",         "maint",          "mix",      "mixed",
    "no_respond", "npc",          "perfctrs",      "planned",        "plnd",     "power_down",
    "power_up",   "powered_down", "powering_down", "powering_up",    "reboot",   "reboot^",
    "reserved",   "resv",         "unk",           "unknown"};

bool contains(const auto& values, std::string_view value) {
  return std::find(std::begin(values), std::end(values), value) != std::end(values);
}

// Drain combines with a base state: a draining idle node is both "idle" and "drain", as in sinfo.
bool is_in_state(const NodeRecord& node, std::string_view word) {
  ShownNodeState state = sinfo_state(node);
  bool busy = state.base == NodeBaseState::kAllocated || state.base == NodeBaseState::kMixed;
  if (word.starts_with('!')) return !is_in_state(node, word.substr(1));
  if (word == "alloc" || word == "allocated") return busy;  // a mixed node also counts as allocated
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

// A line, with the places of its partition and first node in the configuration.
struct PlacedLine {
  NodeLine line;
  size_t partition = 0;
  size_t node = 0;
};

template <typename Key>
int order(const Key& left, const Key& right) {
  return left < right ? -1 : right < left ? 1 : 0;
}
// The value of a line's first node; an empty one for a line without nodes.
template <auto value>
int by_node(const PlacedLine& left, const PlacedLine& right) {
  using Value = std::decay_t<std::invoke_result_t<decltype(value), const NodeRecord&>>;
  const auto of = [](const NodeLine& line) {
    return line.nodes.empty() ? Value() : std::invoke(value, *line.nodes.front());
  };
  return order(of(left.line), of(right.line));
}
template <auto value>
int by_partition(const PlacedLine& left, const PlacedLine& right) {
  return order(std::invoke(value, *left.line.partition), std::invoke(value, *right.line.partition));
}
int by_partition_place(const PlacedLine& left, const PlacedLine& right) {
  return order(left.partition, right.partition);
}
int by_node_place(const PlacedLine& left, const PlacedLine& right) {
  return order(left.node, right.node);
}
int by_node_count(const PlacedLine& left, const PlacedLine& right) {
  return order(left.line.nodes.size(), right.line.nodes.size());
}
int state_rank(const NodeRecord& node) {
  return state_order(sinfo_state(node));
}
std::string_view reason(const NodeRecord& node) {
  return node.reason();
}

using Compare = int (*)(const PlacedLine& left, const PlacedLine& right);

// As in sinfo(1), --sort; other letters order nothing.
constexpr struct {
  char letter;
  Compare compare;
  Compare as_configured = nullptr;  // after a '#', if that differs
} kSortKeys[] = {
    {'P', by_partition<&PartitionRecord::name>, by_partition_place},
    {'R', by_partition<&PartitionRecord::name>, by_partition_place},
    {'t', by_node<state_rank>},
    {'T', by_node<state_rank>},
    {'N', by_node_place},
    {'n', by_node_place},
    {'D', by_node_count},
    {'c', by_node<&NodeRecord::cpus>},
    {'d', by_node<&NodeRecord::tmp_disk_mib>},
    {'e', by_node<&NodeRecord::free_memory_mib>},
    {'m', by_node<&NodeRecord::memory_mib>},
    {'w', by_node<&NodeRecord::weight>},
    {'O', by_node<&NodeRecord::cpu_load>},
    {'H', by_node<&NodeRecord::reason_time>},
    {'E', by_node<reason>},
    {'l', by_partition<&PartitionRecord::max_time_minutes>},
    {'a', by_partition<&PartitionRecord::state>},
    {'p', by_partition<&PartitionRecord::priority_tier>},
};

struct SortTerm {
  Compare compare;
  bool descending;
};

std::vector<SortTerm> parse_sort(std::string_view sort) {
  std::vector<SortTerm> terms;
  bool descending = false;
  bool as_configured = false;
  for (char c : sort) {
    if (c == ',' || c == '+' || c == '-' || c == '#') {
      descending = c == '-' || (c == '#' && descending);
      as_configured = c == '#';
      continue;
    }
    for (const auto& key : kSortKeys)
      if (key.letter == c)
        terms.push_back(
            {as_configured && key.as_configured != nullptr ? key.as_configured : key.compare, descending});
    descending = as_configured = false;
  }
  return terms;
}

std::string_view sort_of(const SinfoOptions& options) {
  if (options.sort) return *options.sort;
  return options.list_reasons ? "-H" : options.node_oriented ? "N,#P" : "#P,-t";
}

void sort_lines(std::vector<PlacedLine>& lines, std::string_view sort) {
  const std::vector<SortTerm> terms = parse_sort(sort);
  std::stable_sort(lines.begin(), lines.end(), [&](const PlacedLine& left, const PlacedLine& right) {
    for (const SortTerm& term : terms)
      if (const int result = term.compare(left, right); result != 0)
        return term.descending ? result > 0 : result < 0;
    return false;
  });
}

// Groups the nodes whose shown separating fields have the same values into one line.
class LineGroups {
 public:
  LineGroups(const SinfoOptions& options, const Table<NodeLine>& table, const DisplayContext& context)
      : options_(options), context_(context) {
    shows_partitions_ = table.shows("partition") || table.shows("partitionname");
    for (const auto& field : node_fields()) {
      // Documents tell the use of GPUs, whatever the format.
      if (!table.shows(field.name) && (!options.document || field.name != "gresused")) continue;
      if (contains(kPartitionFields, field.name)) partition_fields_.push_back(&field);
      if (contains(kNodeFields, field.name) || (options.exact && contains(kExactFields, field.name)))
        node_fields_.push_back(&field);
    }
  }

  void add(const PartitionRecord& partition, size_t place, std::span<const NodeRecord* const> nodes) {
    const NodeLine without_nodes{&partition, {}};
    const std::string partition_key = key_of(partition_fields_, without_nodes);
    bool found = false;
    for (size_t n = 0; n < nodes.size(); ++n) {
      const NodeRecord& node = *nodes[n];
      if (!contains(node.partitions(), partition.name()) || !is_selected(node, options_)) continue;
      found = true;
      NodeLine line{&partition, {&node}};
      std::string key = partition_key + key_of(node_fields_, line);
      if (options_.node_oriented) key += partition.name() + "\n" + node.name();
      add(std::move(key), {std::move(line), place, n});
    }
    // A partition without such nodes has a line only if lines show partitions.
    if (found || options_.node_oriented || options_.list_reasons || !shows_partitions_) return;
    add(partition_key, {without_nodes, place, nodes.size()});
  }

  std::vector<PlacedLine> take() { return std::move(lines_); }

 private:
  using Fields = std::vector<const TableField<NodeLine>*>;

  std::string key_of(const Fields& fields, const NodeLine& line) const {
    std::string key;
    for (const auto* field : fields) {
      field->append(line, context_, key);
      key += '\n';
    }
    return key;
  }

  void add(std::string key, PlacedLine added) {
    const auto [at, is_new] = line_by_key_.try_emplace(std::move(key), lines_.size());
    if (is_new) {
      lines_.push_back(std::move(added));
      return;
    }
    std::vector<const NodeRecord*>& members = lines_[at->second].line.nodes;
    for (const NodeRecord* node : added.line.nodes)
      if (std::find(members.begin(), members.end(), node) == members.end()) members.push_back(node);
  }

  const SinfoOptions& options_;
  const DisplayContext& context_;
  Fields partition_fields_, node_fields_;
  bool shows_partitions_ = false;
  std::vector<PlacedLine> lines_;
  std::unordered_map<std::string, size_t> line_by_key_;
};

}  // namespace

Result<std::vector<std::vector<std::string>>> parse_node_states(std::string_view text) {
  std::vector<std::vector<std::string>> result;
  if (text::equals_ignoring_case(text, "all")) return result;
  for (std::string_view item : text::split(text, ',')) {
    std::vector<std::string> words;
    for (std::string_view word : text::split(item, '&')) {
      const bool negated = (word.starts_with('~') || word.starts_with('!')) && spoken_release() >= kSlurm26;
      if (negated) word.remove_prefix(1);
      std::string lower = text::lower_case(word);
      if (!contains(kStateWords, lower)) return failure("Bad state string: \"" + std::string(word) + "\"");
      words.push_back(negated ? "!" + lower : std::move(lower));
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
      const bool reserved = spoken_release() >= kSlurm24;
      format += !options.long_list ? " %.5a %.10l %.6D %.6t %N"
                : reserved         ? " %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %.11i %N"
                                   : " %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N";
    }
  }
  return Table<NodeLine>::from_short_format(node_fields(), format, problems);
}

std::vector<NodeLine> node_lines(const SinfoOptions& options, const Table<NodeLine>& table,
                                 std::span<const NodeRecord* const> nodes,
                                 std::span<const PartitionRecord* const> partitions,
                                 const DisplayContext& context) {
  LineGroups groups(options, table, context);
  for (size_t p = 0; p < partitions.size(); ++p) {
    const PartitionRecord& partition = *partitions[p];
    if (!options.partitions.empty() && !contains(options.partitions, partition.name())) continue;
    if (partition.hidden() && !options.all && options.partitions.empty()) continue;
    groups.add(partition, p, nodes);
  }
  std::vector<PlacedLine> placed = groups.take();
  sort_lines(placed, sort_of(options));
  std::vector<NodeLine> lines;
  lines.reserve(placed.size());
  for (PlacedLine& one : placed) lines.push_back(std::move(one.line));
  return lines;
}

}  // namespace minke::view
