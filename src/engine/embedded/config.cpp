#include "engine/embedded/config.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <set>
#include <sstream>
#include <string_view>

#include "engine/embedded/config_policy.h"
#include "engine/embedded/config_storage.h"
#include "engine/embedded/config_table.h"
#include "node/gpu_probe.h"
#include "os/files.h"
#include "sched/layout.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/memory.h"
#include "text/number.h"
#include "text/tres.h"

namespace minke::engine {

namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 20;
constexpr std::chrono::seconds kGpuPatience{60};  // a driver that nobody has used yet takes its time

// Of GPUs that are virtual all of them; of others those of one, until it is known how many GPUs there are.
Status add_shards(model::NodeRecord& node, uint32_t each) {
  uint32_t gpus = 0;
  for (const model::Gres& gres : node.gres()) {
    if (gres.name() == "shard") return {};
    gpus += gres.name() == "gpu" ? gres.count() : 0;
  }
  if (each == 0) return {};
  if (each * std::max(1U, gpus) > sched::MachineLayout::kMaxDevices)
    return failure("a node can have 64 shards at most");
  model::Gres& gres = *node.add_gres();
  gres.set_name("shard");
  gres.set_count(each * std::max(1U, gpus));
  return {};
}

Status read_node(const toml::table& from, const std::string& path, const model::NodeRecord& machine,
                 Configuration& config) {
  Table table(from, path, "[[node]]");
  model::NodeRecord node = machine;
  std::vector<std::string> names;
  node.clear_features();
  bool layout_given = false;
  table.text("name", [&](const std::string& list) -> Status {
    auto expanded = text::expand_hostlist(list);
    if (!expanded) return failure(expanded.error());
    names = std::move(*expanded);
    return {};
  });
  table.number("cpus", 1, 65536, [&](int64_t value) {
    node.set_cpus(static_cast<uint32_t>(value));
    layout_given = true;
  });
  if (layout_given) {
    // One socket of single-threaded cores, unless said otherwise.
    node.set_sockets(1);
    node.set_threads_per_core(1);
    node.set_cores_per_socket(node.cpus());
  }
  table.number("sockets", 1, 1024, [&](int64_t value) { node.set_sockets(static_cast<uint32_t>(value)); });
  table.number("cores_per_socket", 1, 65536,
               [&](int64_t value) { node.set_cores_per_socket(static_cast<uint32_t>(value)); });
  table.number("threads_per_core", 1, 64,
               [&](int64_t value) { node.set_threads_per_core(static_cast<uint32_t>(value)); });
  table.mib("memory", [&](uint64_t value) { node.set_memory_mib(value); });
  table.mib("tmp_disk", [&](uint64_t value) { node.set_tmp_disk_mib(value); });
  table.number("weight", 0, 0xfffffffe,
               [&](int64_t value) { node.set_weight(static_cast<uint32_t>(value)); });
  table.texts("features", [&](const std::string& feature) -> Status {
    node.add_features(feature);
    return {};
  });
  bool gpus_given = false;
  table.texts("gpus", [&](const std::string& given) -> Status {
    // "2", "a100:4"
    auto parsed = text::parse_gpu_list(given);
    if (!parsed) return failure(parsed.error());
    if (!gpus_given) node.clear_gres();
    gpus_given = true;
    uint32_t count = 0;
    for (const model::Gres& gres : *parsed) *node.add_gres() = gres;
    for (const model::Gres& gres : node.gres()) count += gres.count();
    if (count > sched::MachineLayout::kMaxDevices) return failure("a node can have 64 GPUs at most");
    if (node.gres_size() > static_cast<int>(sched::MachineLayout::kMaxPoolsPerNode)) {
      return failure("a node can have 16 types of GPU at most");
    }
    node.set_virtual_gres(true);
    return {};
  });
  uint32_t shards = 0;
  table.number("shards_per_gpu", 1, sched::MachineLayout::kMaxDevices,
               [&](int64_t value) { shards = static_cast<uint32_t>(value); });
  std::vector<uint32_t> real_gpus;
  table.text("gpu_devices", [&](const std::string& given) -> Status {
    if (gpus_given) return failure("does not go together with gpus, which are virtual");
    auto expanded = text::expand_hostlist("[" + given + "]");
    if (!expanded) return failure("must be numbers of GPUs, as nvidia-smi counts them: \"0-3\"");
    for (const std::string& number : *expanded)
      real_gpus.push_back(static_cast<uint32_t>(std::atoi(number.c_str())));
    if (!names.empty() && real_gpus.size() % names.size() != 0)
      return failure("cannot be dealt out evenly to " + std::to_string(names.size()) + " nodes");
    return {};
  });
  if (const Status finished = table.finish(); !finished) return finished;
  if (names.empty()) {
    return failure(path + ":" + std::to_string(from.source().begin.line) + ": a [[node]] needs a name");
  }
  if (const Status added = add_shards(node, shards); !added)
    return failure(path + ":" + std::to_string(from.source().begin.line) + ": " + added.error().message);
  const size_t gpus_each = names.empty() ? 0 : real_gpus.size() / names.size();
  for (const std::string& name : names) {
    if (gpus_each != 0) {
      const auto first = real_gpus.begin() + static_cast<ptrdiff_t>((&name - names.data()) * gpus_each);
      config.gpus_of_nodes[name] = {first, first + static_cast<ptrdiff_t>(gpus_each)};
    }
    node.set_name(name);
    node.set_address(name);
    node.set_is_virtual(name != machine.name());
    config.nodes.push_back(node);
  }
  return {};
}

Status read_partition(const toml::table& from, const std::string& path, Configuration& config) {
  Table table(from, path, "[[partition]]");
  model::PartitionRecord partition;
  std::string name, nodes = "ALL", state = "UP";
  partition.set_max_time_minutes(text::kUnlimited);
  partition.set_max_nodes(text::kUnlimited);
  partition.set_priority_tier(1);
  partition.set_priority_job_factor(1);
  partition.set_oversubscribe("NO");
  table.text("name", name);
  table.text("nodes", nodes);
  table.boolean("default", [&](bool value) { partition.set_is_default(value); });
  table.boolean("offline", [&](bool value) { partition.set_offline(value); });
  table.boolean("hidden", [&](bool value) { partition.set_hidden(value); });
  table.boolean("exclusive", [&](bool value) {
    partition.set_exclusive(value);
    if (value) partition.set_oversubscribe("EXCLUSIVE");
  });
  table.minutes("max_time", [&](uint32_t value) { partition.set_max_time_minutes(value); });
  table.minutes("default_time", [&](uint32_t value) { partition.set_default_time_minutes(value); });
  table.number("max_nodes", 1, 65536,
               [&](int64_t value) { partition.set_max_nodes(static_cast<uint32_t>(value)); });
  table.number("min_nodes", 0, 65536,
               [&](int64_t value) { partition.set_min_nodes(static_cast<uint32_t>(value)); });
  table.number("max_cpus_per_node", 1, 65536,
               [&](int64_t value) { partition.set_max_cpus_per_node(static_cast<uint32_t>(value)); });
  table.boolean("exclusive_user", [&](bool value) { partition.set_exclusive_user(value); });
  table.text("qos", [&](const std::string& value) -> Status {
    partition.set_qos(text::lower_case(value));
    return {};
  });
  table.number("priority_tier", 0, 65533,
               [&](int64_t value) { partition.set_priority_tier(static_cast<uint32_t>(value)); });
  table.mib("default_mem_per_cpu", [&](uint64_t value) { partition.set_default_mem_per_cpu_mib(value); });
  table.mib("default_mem_per_node", [&](uint64_t value) { partition.set_default_mem_per_node_mib(value); });
  table.mib("max_mem_per_cpu", [&](uint64_t value) { partition.set_max_mem_per_cpu_mib(value); });
  table.mib("max_mem_per_node", [&](uint64_t value) { partition.set_max_mem_per_node_mib(value); });
  table.minutes("over_time_limit", [&](uint32_t value) { partition.set_over_time_limit_minutes(value); });
  table.number("priority_job_factor", 0, 65533,
               [&](int64_t value) { partition.set_priority_job_factor(static_cast<uint32_t>(value)); });
  table.number("grace_time", 0, 86400,
               [&](int64_t value) { partition.set_grace_time_seconds(static_cast<uint32_t>(value)); });
  table.text("preempt_mode", [&](const std::string& given) -> Status {
    if (!parse_preempt_mode(given)) return failure("must be off, cancel, requeue or suspend");
    partition.set_preempt_mode(text::upper_case(given));
    return {};
  });
  std::vector<std::string> serves;
  table.texts("serves", [&](const std::string& kind) -> Status {
    if (kind != "cpu" && kind != "gpu" && kind != "whole" && kind != "interactive")
      return failure("must be of cpu, gpu, whole and interactive");
    serves.push_back(kind);
    return {};
  });
  sched::TresWeights weights;
  table.text("billing_weights", [&](const std::string& given) -> Status {
    auto parsed = sched::parse_tres_weights(given);
    if (!parsed) return failure(parsed.error());
    weights = std::move(*parsed);
    partition.set_billing_weights(given);
    return {};
  });
  table.text("billing_rule", [&](const std::string& given) -> Status {
    if (given != "sum" && given != "max") return failure("must be sum or max");
    weights.maximum = given == "max";
    return {};
  });
  table.text("state", [&](const std::string& given) -> Status {
    if (given != "UP" && given != "DOWN" && given != "DRAIN" && given != "INACTIVE") {
      return failure("must be UP, DOWN, DRAIN or INACTIVE");
    }
    state = given;
    return {};
  });
  if (const Status finished = table.finish(); !finished) return finished;
  const std::string where = path + ":" + std::to_string(from.source().begin.line) + ": ";
  if (name.empty() || name.find_first_of(", \t") != std::string::npos) {
    return failure(where + "a [[partition]] needs a name without commas and spaces");
  }
  std::vector<std::string> members;
  if (nodes == "ALL") {
    for (const auto& node : config.nodes) members.push_back(node.name());
  } else {
    auto expanded = text::expand_hostlist(nodes);
    if (!expanded) return failure(where + expanded.error().message);
    members = std::move(*expanded);
  }
  for (const std::string& member : members) {
    if (std::none_of(config.nodes.begin(), config.nodes.end(),
                     [&](const auto& node) { return node.name() == member; })) {
      return failure(where + "partition " + name + " names node " + member + ", which no [[node]] declares");
    }
  }
  for (const auto& other : config.partitions) {
    if (other.name() == name) return failure(where + "there are two partitions " + name);
  }
  if (!weights.empty()) config.billing.emplace_back(name, std::move(weights));
  if (!serves.empty()) config.serves[name] = std::move(serves);
  partition.set_name(name);
  partition.set_state(state);
  partition.set_nodes(text::compress_hostlist_sorted(members));
  config.partitions.push_back(std::move(partition));
  return {};
}

void read_mail(Table& table, Configuration& config) {
  MailConfiguration mail;
  model::MailSettings& settings = mail.settings;
  settings.set_log_lines(20);
  settings.set_timeout_seconds(60);
  settings.set_from("minke");
  const auto file = [&](std::string_view key, std::string* value) {
    table.text(key, [value](const std::string& given) -> Status {
      if (given.empty() || given.front() != '/') return failure("must be an absolute path");
      *value = given;
      return {};
    });
  };
  file("program", settings.mutable_program());
  file("ca_file", settings.mutable_ca_file());
  file("password_file", settings.mutable_password_file());
  table.text("server", [&](const std::string& given) -> Status {
    const bool url = given.starts_with("smtp://") || given.starts_with("smtps://");
    if (!url || given.find_first_of(" \t\r\n@") != std::string::npos || given.back() == '/')
      return failure("must be smtp://HOST:PORT or smtps://HOST:PORT");
    settings.set_server(given);
    return {};
  });
  table.text("tls", [&](const std::string& given) -> Status {
    if (given != "required" && given != "if-offered" && given != "none")
      return failure("must be required, if-offered or none");
    settings.set_tls(given == "required" ? model::MailSettings::REQUIRED
                     : given == "none"   ? model::MailSettings::NONE
                                         : model::MailSettings::IF_OFFERED);
    return {};
  });
  table.text("user", *settings.mutable_user());
  table.text("from", *settings.mutable_from());
  table.text("domain", *settings.mutable_domain());
  table.number("log_lines", 0, 200, [&](int64_t v) { settings.set_log_lines(static_cast<uint32_t>(v)); });
  table.number("timeout", 1, 600, [&](int64_t v) { settings.set_timeout_seconds(static_cast<uint32_t>(v)); });
  table.number("max_per_hour", 1, 1000000, [&](int64_t v) { mail.max_per_hour = static_cast<uint32_t>(v); });
  table.number("retry", 1, 3600, [&](int64_t v) { mail.retry_seconds = static_cast<uint32_t>(v); });
  table.number("give_up", 1, 720, [&](int64_t v) { mail.give_up_hours = static_cast<uint32_t>(v); });
  if (table.finish() && settings.program().empty() == settings.server().empty())
    table.fail(table.table(), "[mail]", "needs program or server, one of them");
  config.mail = std::move(mail);
}

bool is_host_name(std::string_view name) {
  return !name.empty() && name.size() <= 253 && name.find("..") == std::string_view::npos &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
         });
}

void read_proxy(Table& table, model::ProxySettings& proxy) {
  constexpr int64_t kHighestPort = 65535;
  proxy.set_port(3128);
  proxy.set_program("/usr/bin/tinyproxy");
  table.texts("allow", [&](const std::string& host) -> Status {
    if (!is_host_name(host))
      return failure("must be host names: \"pypi.org\", or \".example.org\" for all below it");
    proxy.add_allowed(host);
    return {};
  });
  table.number("port", 1, kHighestPort, [&](int64_t value) { proxy.set_port(static_cast<uint32_t>(value)); });
  table.numbers("connect_ports", 1, kHighestPort,
                [&](int64_t value) { proxy.add_connect_ports(static_cast<uint32_t>(value)); });
  if (proxy.connect_ports().empty()) proxy.add_connect_ports(443);
  table.text("upstream", [&](const std::string& given) -> Status {
    const size_t colon = given.rfind(':');
    if (colon == std::string::npos || !is_host_name(std::string_view(given).substr(0, colon)) ||
        !text::parse_unsigned(std::string_view(given).substr(colon + 1), kHighestPort))
      return failure("must be HOST:PORT");
    proxy.set_upstream(given);
    return {};
  });
  table.text("program", [&](const std::string& given) -> Status {
    if (given.empty() || given.front() != '/') return failure("must be an absolute path");
    proxy.set_program(given);
    return {};
  });
}

}  // namespace

Result<Configuration> parse_configuration(const std::string& text, const std::string& path,
                                          const model::NodeRecord& machine) {
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    std::ostringstream where;
    where << path << ":" << parsed.error().source().begin.line << ": " << parsed.error().description();
    return failure(where.str());
  }
  Configuration config;
  model::NodeRecord this_machine = machine;
  this_machine.set_weight(1);  // Slurm's default
  Table table(parsed.table(), path, "minke.toml");
  table.text("cluster_name", config.cluster_name);
  table.text("tmp_root", [&](const std::string& given) -> Status {
    if (given.empty() || given.front() != '/') return failure("must be an absolute path");
    config.tmp_root = given;
    return {};
  });
  table.text("tmp_size", [&](const std::string& given) -> Status {
    constexpr uint64_t kLeastMib = 16, kMostMib = uint64_t{16} << 20;
    const auto mib = text::parse_mib(given);
    if (!mib || *mib < kLeastMib || *mib > kMostMib) return failure("must be a size from \"16M\" to \"16T\"");
    config.tmp_bytes = *mib << 20;
    return {};
  });
  table.number("first_job_id", 1, 0x03ffffff,
               [&](int64_t v) { config.first_job_id = static_cast<uint32_t>(v); });
  table.text("mpi_default", [&](const std::string& given) -> Status {
    if (given != "auto" && given != "none" && given != "pmi2" && given != "pmix")
      return failure("must be auto, none, pmi2 or pmix");
    config.mpi_default = given;
    return {};
  });
  table.number("kill_wait", 0, 65533,
               [&](int64_t v) { config.kill_wait_seconds = static_cast<uint32_t>(v); });
  table.number("min_job_age", 2, 1 << 30,
               [&](int64_t v) { config.min_job_age_seconds = static_cast<uint32_t>(v); });
  table.number("max_array_size", 1, 4000002,
               [&](int64_t v) { config.max_array_size = static_cast<uint32_t>(v); });
  table.number("max_job_count", 1, 100000000,
               [&](int64_t v) { config.max_job_count = static_cast<uint32_t>(v); });
  table.text("enforce_part_limits", [&](const std::string& given) -> Status {
    if (given != "ANY" && given != "ALL")
      return failure("must be ANY or ALL: a job that no partition takes is always refused");
    config.all_partitions_must_fit = given == "ALL";
    return {};
  });
  table.number("requeue_delay", 0, 1 << 30,
               [&](int64_t v) { config.requeue_delay_seconds = static_cast<uint32_t>(v); });
  table.boolean("requeue", [&](bool v) { config.requeue_by_default = v; });
  table.text("operators", config.operators);
  table.text("administrators", config.administrators);
  table.boolean("private_tmp", [&](bool v) { config.private_tmp = v; });
  table.boolean("private_jobs", [&](bool v) { config.private_jobs = v; });
  table.boolean("bind_cpus", [&](bool v) { config.bind_cpus = v; });
  table.boolean("constrain_memory", [&](bool v) { config.constrain_memory = v; });
  table.number("max_pids", 0, 4194304, [&](int64_t v) { config.max_pids = static_cast<uint32_t>(v); });
  table.section("licenses", [&](const std::string& name, int64_t count) {
    config.licenses.emplace_back(name, static_cast<uint32_t>(count));
  });
  table.sub_table("preemption", [&](Table& section) { read_preemption(section, config.preemption); });
  table.text("metrics", [&](const std::string& given) -> Status {
    if (given.find(':') == std::string::npos) return failure("must be HOST:PORT, as \"127.0.0.1:9798\"");
    config.metrics = given;
    return {};
  });
  table.sub_table("measuring", [&](Table& section) {
    section.number("interval", 0, 3600,
                   [&](int64_t v) { config.measuring_interval = static_cast<uint32_t>(v); });
  });
  uint32_t shards = 0;  // of each GPU, where the node does not say
  table.sub_table("gpus", [&](Table& section) {
    section.boolean("discover", [&](bool v) { config.gpus.discover = v; });
    section.number("shards_per_gpu", 1, sched::MachineLayout::kMaxDevices,
                   [&](int64_t v) { shards = static_cast<uint32_t>(v); });
    section.text("library", config.gpus.driver.library);
    section.text("device_directory", config.gpus.driver.devices);
    section.text("system_directory", config.gpus.driver.system);
  });
  table.sub_table("storage", [&](Table& section) { config.storage = read_storage(section); });
  table.sub_table("proxy", [&](Table& section) { read_proxy(section, config.proxy); });
  table.sub_table("mail", [&](Table& section) { read_mail(section, config); });
  table.sub_table("accounting", [&](Table& section) { read_accounting(section, config.accounting); });
  table.sub_table("priority", [&](Table& section) { read_priority(section, config.priority); });
  const toml::array* nodes = table.tables("node");
  const toml::array* partitions = table.tables("partition");
  if (const Status finished = table.finish(); !finished) return failure(finished.error());

  if (nodes != nullptr) {
    for (const toml::node& node : *nodes) {
      if (const Status read = read_node(*node.as_table(), path, this_machine, config); !read)
        return failure(read.error());
    }
  }
  if (config.nodes.empty()) config.nodes.push_back(this_machine);
  for (auto& node : config.nodes) {
    if (const Status added = add_shards(node, shards); !added)
      return failure(path + ": node " + node.name() + ": " + added.error().message);
  }
  std::set<std::string> names;
  for (const auto& node : config.nodes) {
    if (!names.insert(node.name()).second) return failure(path + ": there are two nodes " + node.name());
  }
  if (partitions != nullptr) {
    for (const toml::node& partition : *partitions) {
      if (const Status read = read_partition(*partition.as_table(), path, config); !read)
        return failure(read.error());
    }
  } else if (const Status made = read_partition(toml::table{{"name", "main"}}, path, config); !made) {
    return failure(made.error());
  }
  const auto defaults = std::count_if(config.partitions.begin(), config.partitions.end(),
                                      [](const auto& partition) { return partition.is_default(); });
  if (defaults > 1) return failure(path + ": more than one partition is the default");
  if (defaults == 0) config.partitions.front().set_is_default(true);
  return config;
}

Result<Configuration> load_configuration(const std::string& home, const std::string& path,
                                         const model::NodeRecord& machine) {
  std::string text;
  if (!path.empty()) {
    auto read = os::read_file(path, kMaxFileBytes);
    if (!read) return failure("the configuration cannot be read: " + read.error().message);
    text = std::move(*read);
  }
  auto config = parse_configuration(text, path.empty() ? "(no configuration)" : path, machine);
  if (!config) return config;
  config->home = home;
  config->source_path = path;
  if (config->tmp_root.empty()) config->tmp_root = home + "/tmp";
  if (config->gpus.discover && node::may_have_gpus(config->gpus.driver)) {
    node::GpuReport gpus;
    node::GpuProbe probe(config->gpus.driver);
    if (auto report = probe.ask(kGpuPatience)) {
      gpus = std::move(*report);
    } else {
      gpus.set_problem(report.error().message);
    }
    give_gpus(*config, gpus);
  }
  // Where there are no GPUs, there is nothing to share.
  for (auto& node : config->nodes) {
    if (!std::any_of(node.gres().begin(), node.gres().end(),
                     [](const model::Gres& gres) { return gres.name() == "gpu"; }))
      node.clear_gres();
  }
  return config;
}

}  // namespace minke::engine
