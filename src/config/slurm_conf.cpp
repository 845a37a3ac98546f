#include "config/slurm_conf.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "accounts/tres_weights.h"
#include "api/field.pb.h"
#include "config/gres_conf.h"
#include "config/machine.h"
#include "config/parameters.h"
#include "config/partition_fields.h"
#include "model/cluster.pb.h"
#include "model/error.h"
#include "model/job_terms.pb.h"
#include "sched/layout.h"
#include "text/hostlist.h"
#include "text/number.h"
#include "text/slurm_conf.h"
#include "text/tres.h"
#include "text/word.h"

namespace minke::config {
namespace {

using Words = std::vector<std::pair<std::string, std::string>>;

constexpr uint64_t kMaxCpus = 65536;
constexpr int kMaxIncludes = 8;  // one within another

template <size_t kCount>
bool is_of(std::string_view name, const std::string_view (&known)[kCount]) {
  return std::any_of(std::begin(known), std::end(known),
                     [&](std::string_view one) { return text::is(name, one); });
}

// Words for nodes that change nothing, or are read elsewhere here.
constexpr std::string_view kNodeWords[] = {
    "BcastAddr",       "Boards",         "CoresPerSocket", "CpuBind",    "CPUs",   "Gres",
    "NodeAddr",        "NodeHostname",   "Port",           "Procs",      "Reason", "Sockets",
    "SocketsPerBoard", "ThreadsPerCore", "Topology",       "TRESWeights"};
// Words for nodes that have no effect here.
constexpr std::string_view kUnusedNodeWords[] = {"CoreSpecCount", "CpuSpecList", "MemSpecLimit"};
// The states that a node may be declared in; only FUTURE has an effect here.
constexpr std::string_view kNodeStates[] = {"UNKNOWN", "IDLE", "CLOUD", "FUTURE"};
// Slurm's words for partitions beside those that can be set here.
constexpr std::string_view kPartitionWords[] = {"AllocNodes",
                                                "Alternate",
                                                "CpuBind",
                                                "ExclusiveTopo",
                                                "PowerDownOnIdle",
                                                "ResumeTimeout",
                                                "SelectTypeParameters",
                                                "SuspendTime",
                                                "SuspendTimeout",
                                                "Topology"};

// Returns the value of the last word of that name; nullptr if there is none.
const std::string* find(const Words& words, std::string_view known) {
  const std::string* found = nullptr;
  for (const auto& [name, value] : words) {
    if (text::is(name, known)) found = &value;
  }
  return found;
}

class Reader {
 public:
  Reader(std::string path, const model::NodeRecord& machine, const ReadFile& read, Configuration& config)
      : path_(std::move(path)), machine_(machine), read_(read), config_(config) {}

  Status file(const SlurmConfFile& given, int depth);
  Status finish();
  const std::set<std::string>& gres_types() const { return gres_types_; }

 private:
  Status line(const text::SlurmConfLine& line, const SlurmConfFile& of, int depth);
  Status include(const std::string& path, const SlurmConfFile& from, int depth);
  Status node(const Words& words);
  Status node_layout(const Words& words, model::NodeRecord& node);
  Status node_word(const std::string& name, const std::string& value, model::NodeRecord& node);
  Status add_nodes(const std::vector<std::string>& names, model::NodeRecord node, const std::string* gres);
  Status node_gres(const std::string& value);  // of the last of nodes_
  Status add_other_gres();
  Status partition(const Words& words);
  Status partition_word(const std::string& name, const std::string& value, model::PartitionRecord& record);
  Status partition_nodes(const std::string& value, model::PartitionRecord& partition);
  Status node_set(const Words& words);

  // Notes each name once for each kind of line: a thousand nodes may repeat it.
  void note_unused(const std::string& name) {
    if (noted_.insert(text::lower_case(name)).second) config_.unused.push_back(where_ + name);
  }

  std::string path_;
  const model::NodeRecord& machine_;
  const ReadFile& read_;
  Configuration& config_;
  std::string where_;  // "FILE:LINE: ", of the current line
  std::set<std::string> noted_;
  bool launch_parameters_given_ = false, memory_of_nodes_given_ = false;
  Words node_defaults_, partition_defaults_;  // of NodeName=DEFAULT, PartitionName=DEFAULT
  std::vector<model::NodeRecord> nodes_;
  std::set<std::string> gres_types_;
  // GRES beside GPUs and shards, which count if GresTypes names them: for a place in nodes_, with their
  // where_.
  struct OtherGres {
    size_t node = 0;
    std::string where;
    std::vector<model::Gres> offered;
  };
  std::vector<OtherGres> other_gres_;
  std::set<std::string> node_names_, future_nodes_;
  // Lines that name nodes are read once all nodes are known; with their where_.
  std::vector<std::pair<std::string, Words>> node_sets_, partitions_;
  std::map<std::string, std::vector<std::string>> members_;  // of node sets
};

Status Reader::file(const SlurmConfFile& given, int depth) {
  auto lines = text::parse_slurm_conf(given.text);
  if (!lines) return failure(given.path + ":" + lines.error().message);
  for (const auto& one : *lines) {
    where_ = given.path + ":" + std::to_string(one.number) + ": ";
    if (const Status read = line(one, given, depth); !read) return failure(where_ + read.error().message);
  }
  return {};
}

Status Reader::line(const text::SlurmConfLine& line, const SlurmConfFile& of, int depth) {
  const auto& [name, value] = line.words.front();
  if (text::is(name, "NodeName")) return node(line.words);
  if (text::is(name, "NodeSet")) {
    node_sets_.emplace_back(where_, line.words);
    return {};
  }
  if (text::is(name, "PartitionName")) {
    if (text::is(value, "DEFAULT")) {
      partition_defaults_.insert(partition_defaults_.end(), line.words.begin() + 1, line.words.end());
    } else {
      Words words = partition_defaults_;
      words.insert(words.end(), line.words.begin(), line.words.end());
      partitions_.emplace_back(where_, std::move(words));
    }
    return {};
  }
  if (text::is(name, "DownNodes") || text::is(name, "FrontendName")) {
    note_unused(name);
    return {};
  }
  if (text::is(name, "Include")) return include(value, of, depth);
  for (const auto& [parameter, setting] : line.words) {
    if (text::is(parameter, "GresTypes")) {
      for (const std::string_view type : text::split(setting, ','))
        gres_types_.insert(std::string(text::trim(type)));
      continue;
    }
    // Of the two, Slurm takes that of nodes.
    memory_of_nodes_given_ |= text::is(parameter, "DefMemPerNode");
    if (memory_of_nodes_given_ && text::is(parameter, "DefMemPerCPU")) {
      note_unused(parameter);
      continue;
    }
    const auto used = set_parameter(config_, parameter, setting);
    if (!used) return failure(parameter + "=" + setting + ": " + used.error().message);
    if (!*used) note_unused(parameter);
    launch_parameters_given_ |= text::is(parameter, "LaunchParameters");
  }
  return {};
}

Status Reader::include(const std::string& path, const SlurmConfFile& from, int depth) {
  if (depth >= kMaxIncludes) return failure("files that include one another");
  const std::string found =
      path.starts_with('/') ? path : from.path.substr(0, from.path.rfind('/') + 1) + path;
  auto text = read_(found);
  if (!text) return failure(text.error());
  const std::string here = where_;
  // The message about a mistake in it names that file.
  if (const Status read = file({.path = found, .text = std::move(*text)}, depth + 1); !read) {
    where_.clear();
    return read;
  }
  where_ = here;
  return {};
}

// The CPUs in a NodeName line.
struct CpuLayout {
  uint32_t cpus = 0, boards = 1, sockets = 1, sockets_per_board = 0, cores = 1, threads = 1;
};
constexpr struct {
  std::string_view name;
  uint32_t CpuLayout::*value;
} kLayoutWords[] = {{"Boards", &CpuLayout::boards},
                    {"Sockets", &CpuLayout::sockets},
                    {"SocketsPerBoard", &CpuLayout::sockets_per_board},
                    {"CoresPerSocket", &CpuLayout::cores},
                    {"ThreadsPerCore", &CpuLayout::threads},
                    {"CPUs", &CpuLayout::cpus},
                    {"Procs", &CpuLayout::cpus}};

Status Reader::node_layout(const Words& words, model::NodeRecord& node) {
  CpuLayout given;
  bool any = false, some_cpus = false;
  for (const auto& [name, value] : words) {
    const auto* word = std::find_if(std::begin(kLayoutWords), std::end(kLayoutWords),
                                    [&name = name](const auto& one) { return text::is(name, one.name); });
    if (word == std::end(kLayoutWords)) continue;
    const auto parsed = text::parse_unsigned(value, kMaxCpus);
    if (!parsed || *parsed == 0) return failure(name + "=" + value + ": must be a number from 1 to 65536");
    given.*word->value = static_cast<uint32_t>(*parsed);
    (word->value == &CpuLayout::cpus ? some_cpus : any) = true;
  }
  if (!any && !some_cpus) return {};  // as many as this machine has
  if (!any) given.sockets = given.cpus;
  if (given.sockets_per_board != 0) {
    const uint64_t sockets = uint64_t{given.boards} * given.sockets_per_board;
    if (sockets > kMaxCpus) return failure("more than 65536 sockets");
    given.sockets = static_cast<uint32_t>(sockets);
  }
  const uint64_t in_cores = uint64_t{given.sockets} * given.cores, in_threads = in_cores * given.threads;
  if (in_threads > kMaxCpus) return failure("more than 65536 CPUs");
  // If there are as many CPUs as cores, each core is one.
  if (some_cpus && given.cpus == in_cores) given.threads = 1;
  node.set_sockets(given.sockets);
  node.set_cores_per_socket(given.cores);
  node.set_threads_per_core(given.threads);
  node.set_cpus(static_cast<uint32_t>(in_cores * given.threads));
  return {};
}

Status Reader::node_gres(const std::string& value) {
  model::NodeRecord& node = nodes_.back();
  auto parsed = text::parse_gres_list(value);
  if (!parsed) return failure("Gres=" + value + ": " + parsed.error().message);
  std::vector<model::Gres> gpus, others;
  for (const model::Gres& gres : *parsed) (is_only_counted(gres) ? others : gpus).push_back(gres);
  if (!others.empty())
    other_gres_.push_back({.node = nodes_.size() - 1, .where = where_, .offered = std::move(others)});
  // This machine has the GPUs that its driver reports.
  if (node.name() == machine_.name() || node.name() == "localhost") {
    if (!gpus.empty()) note_unused("Gres");
    return {};
  }
  node.clear_gres();
  return add_virtual_gres(node, gpus);
}

// Large amounts, as of bytes, are no units that can be given to jobs one by one.
Status Reader::add_other_gres() {
  for (OtherGres& other : other_gres_) {
    where_ = other.where;
    for (const model::Gres& gres : other.offered) {
      const std::string_view type = gres.type();  // "1T"
      const bool is_amount =
          type.size() > 1 && text::is_digits(type.substr(0, type.size() - 1)) && !text::is_digits(type);
      if (!gres_types_.contains(gres.name()) || is_amount || gres.count() > sched::MachineLayout::kMaxUnits) {
        note_unused("Gres=" + gres.name());
        continue;
      }
      if (const Status added = add_counted_gres(nodes_[other.node], {gres}); !added)
        return failure(where_ + added.error().message);
    }
  }
  return {};
}

Status Reader::node_word(const std::string& name, const std::string& value, model::NodeRecord& node) {
  const auto is = [&](std::string_view known) { return text::is(name, known); };
  if (is("RealMemory") || is("TmpDisk") || is("Weight")) {
    const auto number = text::parse_unsigned(value, is("Weight") ? 0xfffffffe : uint64_t{1} << 40);
    if (!number) return failure(name + "=" + value + ": must be a number");
    if (is("RealMemory")) node.set_memory_mib(*number);
    if (is("TmpDisk")) node.set_tmp_disk_mib(*number);
    if (is("Weight")) node.set_weight(static_cast<uint32_t>(*number));
  } else if (is("Feature") || is("Features")) {
    node.clear_features();
    for (const std::string_view feature : text::split(value, ','))
      if (!feature.empty()) node.add_features(std::string(feature));
  } else if (is("State")) {
    if (!is_of(value, kNodeStates)) note_unused("State=" + value);
  } else if (is_of(name, kUnusedNodeWords)) {
    note_unused(name);
  } else if (!is_of(name, kNodeWords)) {
    return failure(name + " is not known of nodes");
  }
  return {};
}

Status Reader::node(const Words& words) {
  if (text::is(words.front().second, "DEFAULT")) {
    node_defaults_.insert(node_defaults_.end(), words.begin() + 1, words.end());
    return {};
  }
  auto names = text::expand_hostlist(words.front().second);
  if (!names) return failure(names.error());
  Words all = node_defaults_;
  all.insert(all.end(), words.begin() + 1, words.end());
  model::NodeRecord node = machine_;
  node.set_weight(1);
  node.clear_features();
  if (const Status set = node_layout(all, node); !set) return set;
  for (const auto& [name, value] : all) {
    if (const Status set = node_word(name, value, node); !set) return set;
  }
  if (const std::string* state = find(all, "State"); state != nullptr && text::is(*state, "FUTURE")) {
    future_nodes_.insert(names->begin(), names->end());
    return {};
  }
  return add_nodes(*names, node, find(all, "Gres"));
}

// `gres` is nullptr if the line names none.
Status Reader::add_nodes(const std::vector<std::string>& names, model::NodeRecord node,
                         const std::string* gres) {
  if (nodes_.size() + names.size() > text::kMaxHosts) return failure("more than 65536 nodes");
  for (const std::string& name : names) {
    node.set_name(name);
    // Its processes are this machine's: clients must reach it, with or without a name service.
    node.set_address(name == machine_.name() ? name : "127.0.0.1");
    node.set_is_virtual(name != machine_.name());
    if (!node_names_.insert(name).second) return failure("there are two nodes " + name);
    nodes_.push_back(node);
    if (gres == nullptr) continue;
    if (const Status given = node_gres(*gres); !given) return given;
  }
  return {};
}

Status Reader::node_set(const Words& words) {
  std::vector<std::string>& members = members_[words.front().second];
  const std::string* nodes = find(words, "Nodes");
  const std::string* feature = find(words, "Feature");
  if (nodes == nullptr && feature == nullptr) return failure("a NodeSet needs Nodes or Feature");
  if (nodes != nullptr) {
    auto expanded = text::expand_hostlist(*nodes);
    if (!expanded) return failure(expanded.error());
    members.insert(members.end(), expanded->begin(), expanded->end());
  }
  if (feature == nullptr) return {};
  for (const model::NodeRecord& node : config_.nodes) {
    if (std::find(node.features().begin(), node.features().end(), *feature) != node.features().end())
      members.push_back(node.name());
  }
  return {};
}

Status Reader::partition_nodes(const std::string& value, model::PartitionRecord& partition) {
  std::vector<std::string> members;
  if (text::is(value, "ALL")) {
    for (const model::NodeRecord& node : config_.nodes) members.push_back(node.name());
  } else {
    auto expanded = text::expand_hostlist(value);
    if (!expanded) return failure("Nodes=" + value + ": " + expanded.error().message);
    for (std::string& member : *expanded) {
      if (const auto set = members_.find(member); set != members_.end()) {
        members.insert(members.end(), set->second.begin(), set->second.end());
      } else {
        members.push_back(std::move(member));
      }
    }
  }
  std::erase_if(members, [&](const std::string& member) { return future_nodes_.contains(member); });
  for (const std::string& member : members) {
    if (!node_names_.contains(member))
      return failure("partition " + partition.name() + " names node " + member +
                     ", which no NodeName declares");
  }
  partition.set_nodes(text::compress_hostlist_sorted(std::move(members)));
  return {};
}

Status Reader::partition_word(const std::string& name, const std::string& value,
                              model::PartitionRecord& record) {
  // A processor belongs to one job. A request to share them is ignored, because an error would refuse the
  // whole configuration.
  if ((text::is(name, "OverSubscribe") || text::is(name, "Shared")) && !text::is(value, "NO") &&
      !text::is(value, "EXCLUSIVE")) {
    note_unused(name + "=" + value);
    return {};
  }
  if (text::is(name, "PreemptMode") && preempt_mode_without_gang(value).empty()) {
    note_unused(name + "=" + value);
    return {};
  }
  api::Field field;
  field.set_name(name);
  field.set_value(text::is(name, "PreemptMode") ? preempt_mode_without_gang(value) : value);
  const Status applied = apply_partition_field(record, field, config_.nodes);
  if (applied || applied.error().code != model::kNotSupported || !is_of(name, kPartitionWords))
    return applied;
  note_unused(name);
  return {};
}

Status Reader::partition(const Words& words) {
  model::PartitionRecord record = config_.partition_defaults;
  record.set_name(*find(words, "PartitionName"));
  if (record.name().empty() || record.name().find_first_of(", \t") != std::string::npos)
    return failure("a partition needs a name without commas and spaces");
  for (const auto& other : config_.partitions) {
    if (other.name() == record.name()) return failure("there are two partitions " + record.name());
  }
  bool own_line = false, memory_of_nodes_given = false;  // else the words are of PartitionName=DEFAULT
  for (const auto& [name, value] : words) {
    own_line |= text::is(name, "PartitionName");
    memory_of_nodes_given |= own_line && text::is(name, "DefMemPerNode");
    if (text::is(name, "PartitionName") || text::is(name, "Nodes")) continue;
    if (memory_of_nodes_given && text::is(name, "DefMemPerCPU")) {
      note_unused(name);
      continue;
    }
    if (const Status set = partition_word(name, value, record); !set) return set;
  }
  const std::string* nodes = find(words, "Nodes");
  if (const Status set = partition_nodes(nodes == nullptr ? "" : *nodes, record); !set) return set;
  if (record.is_default()) {
    for (auto& other : config_.partitions) other.clear_is_default();  // the last one is
  }
  if (auto weights = accounts::parse_tres_weights(record.billing_weights()); weights && !weights->empty()) {
    weights->maximum = config_.priority.max_tres;
    config_.billing.emplace_back(record.name(), std::move(*weights));
  }
  config_.partitions.push_back(std::move(record));
  return {};
}

Status Reader::finish() {
  if (const Status added = add_other_gres(); !added) return added;
  if (!nodes_.empty()) {
    config_.nodes = std::move(nodes_);
    // The file of a Slurm cluster: salloc's shell is where it is there.
    if (!launch_parameters_given_) config_.interactive_step = false;
    if (partitions_.empty()) partitions_.push_back({"", {{"PartitionName", "main"}, {"Nodes", "ALL"}}});
  } else {
    for (const auto& node : config_.nodes) node_names_.insert(node.name());
  }
  for (const auto& [where, words] : node_sets_) {
    where_ = where;
    if (const Status read = node_set(words); !read) return failure(where_ + read.error().message);
  }
  if (partitions_.empty()) {
    inherit_partition_defaults(config_);
    give_whole_memory(config_);
  } else {
    config_.partitions.clear();
    config_.billing.clear();
    config_.serves.clear();
  }
  for (const auto& [where, words] : partitions_) {
    where_ = where;
    if (const Status read = partition(words); !read) return failure(where_ + read.error().message);
  }
  if (std::none_of(config_.partitions.begin(), config_.partitions.end(),
                   [](const auto& partition) { return partition.is_default(); }))
    config_.partitions.front().set_is_default(true);
  const PreemptionPolicy& preemption = config_.preemption;
  if (preemption.type != PreemptType::kNone && preemption.mode == PreemptMode::kOff)
    return failure(
        path_ + ": PreemptMode must be CANCEL, REQUEUE or SUSPEND where PreemptType lets jobs be preempted");
  return {};
}

}  // namespace

Status apply_slurm_conf(const SlurmConfFile& file, const model::NodeRecord& machine, const ReadFile& read,
                        Configuration& config, const SlurmConfFile* gres) {
  Reader reader(file.path, machine, read, config);
  if (const Status done = reader.file(file, 0); !done) return done;
  if (const Status done = reader.finish(); !done) return done;
  return gres == nullptr ? Status() : apply_gres_conf(*gres, read, reader.gres_types(), config);
}

}  // namespace minke::config
