#include "config/configuration.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <set>
#include <sstream>
#include <string_view>

#include "config/budgets.h"
#include "config/cluster_choice.h"
#include "config/machine.h"
#include "config/parameters.h"
#include "config/policy.h"
#include "config/portal_settings.h"
#include "config/site_variables.h"
#include "config/slurm_conf.h"
#include "config/storage.h"
#include "config/table.h"
#include "config/webhooks.h"
#include "model/cluster.pb.h"
#include "model/job_terms.pb.h"
#include "model/mail.pb.h"
#include "model/proxy.pb.h"
#include "model/shards.h"
#include "node/gpu_probe.h"
#include "node/gpus.pb.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "sched/layout.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/memory.h"
#include "text/number.h"
#include "text/tres.h"
#include "text/word.h"

namespace minke::config {

namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 20;
constexpr std::chrono::seconds kGpuPatience{60};  // a driver that nobody has used yet is slow

void read_mail(Table& table, Configuration& config) {
  MailConfiguration mail;
  model::MailSettings& settings = mail.settings;
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
  table.text("run_as", [&](const std::string& given) -> Status {
    // For the mailer, which reads it itself (config_helpers.h).
    if (given.empty() || given == "root" || given == "0") return failure("must be a user, and not root");
    return {};
  });
  table.text("from", *settings.mutable_from());
  table.text("domain", *settings.mutable_domain());
  table.number("log_lines", 0, 200, [&](int64_t v) { settings.set_log_lines(static_cast<uint32_t>(v)); });
  table.number("timeout", 1, 600, [&](int64_t v) { settings.set_timeout_seconds(static_cast<uint32_t>(v)); });
  table.number("max_per_hour", 1, 1000000, [&](int64_t v) { mail.max_per_hour = static_cast<uint32_t>(v); });
  table.number("retry", 1, 3600, [&](int64_t v) { mail.retry_seconds = static_cast<uint32_t>(v); });
  table.number("give_up", 1, 720, [&](int64_t v) { mail.give_up_hours = static_cast<uint32_t>(v); });
  WebhookRules webhooks;
  table.texts("webhooks", [&](const std::string& word) { return add_webhook_rule(webhooks, word); });
  mail.webhooks = webhooks.reach != WebhookRules::Reach::kNone;
  table.boolean("commands", [&](bool given) { mail.commands = given; });
  const bool has_both = !settings.program().empty() && !settings.server().empty();
  if (table.finish() && (has_both || (!mail.webhooks && !mail.commands && !mail.has_mail())))
    table.fail(table.table(), "[mail]", "needs program or server, one of them, or webhooks or commands");
  config.mail_domain = settings.domain();
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

void read_offline(Table& table, PortAccess& ports) {
  table.text("ports", [&](const std::string& given) -> Status {
    if (given != "job" && given != "user" && given != "all")
      return failure("must be \"user\" (who reaches ports of offline jobs), \"job\" or \"all\"");
    ports = given == "job" ? PortAccess::kJob : given == "user" ? PortAccess::kUser : PortAccess::kEverybody;
    return {};
  });
}

void read_containers(Table& table, ContainerConfiguration& containers) {
  table.text("runtime", [&](const std::string& given) -> Status {
    containers.runtime = given;
    if (given == "crun" || given == "runc" || given.starts_with('/')) return {};
    return failure("must be \"crun\", \"runc\", or the absolute path of such a program");
  });
  table.texts("mounts", [&](const std::string& given) -> Status {
    const size_t colon = given.find(':');
    const bool target = colon == std::string::npos || (colon + 1 < given.size() && given[colon + 1] == '/');
    if (!given.starts_with('/') || !target || given.find_first_of(",\n") != std::string::npos)
      return failure("must be absolute paths: \"/data\", \"/scratch:/scratch:ro\"");
    containers.mounts += (containers.mounts.empty() ? "" : ",") + given;
    return {};
  });
}

// Reads the cluster's name, and its first job id.
void read_cluster(Table& table, Configuration& config) {
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
}

// Reads how many jobs there may be, and what happens at their end.
void read_job_rules(Table& table, Configuration& config) {
  table.number("kill_wait", 0, 65533,
               [&](int64_t v) { config.kill_wait_seconds = static_cast<uint32_t>(v); });
  table.number("min_job_age", 2, 1 << 30,
               [&](int64_t v) { config.min_job_age_seconds = static_cast<uint32_t>(v); });
  table.number("max_array_size", 1, 4000002,
               [&](int64_t v) { config.max_array_size = static_cast<uint32_t>(v); });
  table.number("max_job_count", 1, 100000000,
               [&](int64_t v) { config.max_job_count = static_cast<uint32_t>(v); });
  table.text("enforce_part_limits", [&](const std::string& given) -> Status {
    const auto limits = parse_part_limits(given);
    if (!limits) return failure("must be ANY, ALL or NO");
    config.part_limits = *limits;
    return {};
  });
  table.text("select_type_parameters",
             [&](const std::string& given) { return set_select_parameters(config, given); });
  table.number("requeue_delay", 0, 1 << 30,
               [&](int64_t v) { config.requeue_delay_seconds = static_cast<uint32_t>(v); });
  table.boolean("requeue", [&](bool v) { config.requeue_by_default = v; });
  table.boolean("interactive_step", [&](bool v) { config.interactive_step = v; });
}

// Reads who may do what, and what isolates users and jobs.
void read_rights(Table& table, Configuration& config) {
  table.text("operators", config.operators);
  table.text("administrators", config.administrators);
  table.boolean("private_tmp", [&](bool v) { config.private_tmp = v; });
  table.boolean("private_jobs", [&](bool v) { config.private_jobs = v; });
  table.boolean("bind_cpus", [&](bool v) { config.bind_cpus = v; });
  table.boolean("constrain_memory", [&](bool v) { config.constrain_memory = v; });
  table.number("max_pids", 0, 4194304, [&](int64_t v) { config.max_pids = static_cast<uint32_t>(v); });
}

// `shards` is the number for each GPU, if the node has none of its own.
void read_gpus(Table& table, GpuConfiguration& gpus, uint32_t& shards) {
  table.boolean("discover", [&](bool v) { gpus.discover = v; });
  table.number("shards_per_gpu", 1, model::kShardsOfGpu,
               [&](int64_t v) { shards = static_cast<uint32_t>(v); });
  table.text("library", gpus.driver.library);
  table.text("device_directory", gpus.driver.devices);
  table.text("system_directory", gpus.driver.system);
}

void read_sections(Table& table, Configuration& config, uint32_t& shards) {
  table.section("licenses", [&](const std::string& name, int64_t count) {
    config.licenses.emplace_back(name, static_cast<uint32_t>(count));
  });
  table.sub_table("preemption", [&](Table& section) { read_preemption(section, config.preemption); });
  table.sub_table("prolog", [&](Table& section) { read_prologs(section, config.prologs); });
  table.text("metrics", [&](const std::string& given) -> Status {
    if (given.find(':') == std::string::npos) return failure("must be HOST:PORT, as \"127.0.0.1:9798\"");
    config.metrics = given;
    return {};
  });
  table.sub_table("cluster", [&](Table& section) {
    ClusterChoice checked;  // load_cluster_choice() is for who needs it
    read_cluster_choice(section, checked);
  });
  table.sub_table("compatibility", [&](Table& section) {
    section.text("slurm", [&](const std::string& given) -> Status {
      const auto release = parse_release(given);
      if (!release) return failure("must be \"22.05\", \"24.11\" or \"26.05\"");
      config.slurm_release = *release;
      return {};
    });
  });
  table.sub_table("measuring", [&](Table& section) {
    section.number("interval", 0, 3600,
                   [&](int64_t v) { config.measuring_interval = static_cast<uint32_t>(v); });
  });
  table.sub_table("gpus", [&](Table& section) { read_gpus(section, config.gpus, shards); });
  table.sub_table("storage", [&](Table& section) { config.storage = read_storage(section); });
  table.sub_table("offline", [&](Table& section) { read_offline(section, config.job_ports); });
  table.sub_table("containers", [&](Table& section) { read_containers(section, config.containers); });
  table.sub_table("proxy", [&](Table& section) { read_proxy(section, config.proxy); });
  table.sub_table("budgets", [&](Table& section) {
    BudgetSettings checked;  // load_budget_settings() is for the code that needs them
    read_budget_settings(section, checked);
  });
  table.sub_table("portal", check_portal_settings);
  table.sub_table("variables", [&](Table& section) {
    std::string checked;  // read_site_variables() is for the commands, which need them
    for (const std::string_view name : kSiteVariables) section.text(name, checked);
  });
  table.sub_table("mail", [&](Table& section) { read_mail(section, config); });
  table.sub_table("accounting", [&](Table& section) { read_accounting(section, config.accounting); });
  table.sub_table("priority", [&](Table& section) { read_priority(section, config.priority); });
}

// Reads all [[node]]; without one, this machine is the node.
Status read_nodes(const toml::array* given, const std::string& path, model::NodeRecord machine,
                  uint32_t shards, Configuration& config) {
  machine.set_weight(1);  // Slurm's default
  if (given != nullptr) {
    for (const toml::node& node : *given) {
      if (const Status read = read_node(*node.as_table(), path, machine, config); !read) return read;
    }
  }
  if (config.nodes.empty()) config.nodes.push_back(machine);
  for (auto& node : config.nodes) {
    if (const Status added = add_shards(node, shards); !added)
      return failure(path + ": node " + node.name() + ": " + added.error().message);
  }
  std::set<std::string> names;
  for (const auto& node : config.nodes) {
    if (!names.insert(node.name()).second) return failure(path + ": there are two nodes " + node.name());
  }
  return {};
}

// Reads all [[partition]]; without one, it is "main". One of them is the default.
Status read_partitions(const toml::array* given, const std::string& path, Configuration& config) {
  if (given != nullptr) {
    for (const toml::node& partition : *given) {
      if (const Status read = read_partition(*partition.as_table(), path, config); !read) return read;
    }
  } else if (const Status made = read_partition(toml::table{{"name", "main"}}, path, config); !made) {
    return made;
  }
  const auto defaults = std::count_if(config.partitions.begin(), config.partitions.end(),
                                      [](const auto& partition) { return partition.is_default(); });
  if (defaults > 1) return failure(path + ": more than one partition is the default");
  if (defaults == 0) config.partitions.front().set_is_default(true);
  return {};
}

// In a shared cluster, those who may write to these files decide what runs as root.
Result<std::string> read_configuration_file(const std::string& file, bool shared) {
  struct stat info {};
  if (shared && ::stat(file.c_str(), &info) == 0 && (info.st_uid != 0 || (info.st_mode & 0022) != 0))
    return failure(file + " must be root's, and nobody else may write to it", EPERM);
  auto text = os::read_file(file, kMaxFileBytes);
  if (!text) return failure("the configuration cannot be read: " + text.error().message);
  return text;
}

// Reads config.slurm_conf and its includes, and adds the files to config.files.
Status read_slurm_conf(const model::NodeRecord& machine, Configuration& config) {
  const auto read = [&config](const std::string& file) {
    config.files.push_back(file);
    return read_configuration_file(file, config.shared);
  };
  auto text = read(config.slurm_conf);
  if (!text) return failure(text.error());
  SlurmConfFile gres{.path = config.slurm_conf.substr(0, config.slurm_conf.rfind('/') + 1) + "gres.conf",
                     .text = {}};
  const bool has_gres = ::access(gres.path.c_str(), F_OK) == 0;
  if (has_gres) {
    auto found = read(gres.path);
    if (!found) return failure(found.error());
    gres.text = std::move(*found);
  }
  return apply_slurm_conf({.path = config.slurm_conf, .text = std::move(*text)}, machine, read, config,
                          has_gres ? &gres : nullptr);
}

// Asks the driver, and gives the GPUs that it reports to the nodes.
void discover_gpus(Configuration& config) {
  if (config.gpus.discover && node::may_have_gpus(config.gpus.driver)) {
    node::GpuReport gpus;
    node::GpuProbe probe(config.gpus.driver);
    if (auto report = probe.ask(kGpuPatience)) {
      gpus = std::move(*report);
    } else {
      gpus.set_problem(report.error().message);
    }
    give_gpus(config, gpus);
  }
  // Without GPUs there is nothing to share.
  for (auto& node : config.nodes) {
    if (!std::any_of(node.gres().begin(), node.gres().end(),
                     [](const model::Gres& gres) { return gres.name() == "gpu"; }))
      keep_counted_gres(node);
  }
}

}  // namespace

std::optional<PartLimits> parse_part_limits(std::string_view word) {
  if (text::is(word, "ANY")) return PartLimits::kAny;
  if (text::is(word, "ALL") || text::is(word, "YES")) return PartLimits::kAll;
  if (text::is(word, "NO")) return PartLimits::kNo;
  return std::nullopt;
}

std::string part_limits_word(PartLimits limits) {
  return limits == PartLimits::kAll ? "ALL" : limits == PartLimits::kNo ? "NO" : "ANY";
}

model::MailSettings default_mail_settings() {
  model::MailSettings settings;
  settings.set_log_lines(20);
  settings.set_timeout_seconds(60);
  settings.set_from("minke");
  return settings;
}

Result<Configuration> parse_configuration(const std::string& text, const std::string& path,
                                          const model::NodeRecord& machine) {
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    std::ostringstream where;
    where << path << ":" << parsed.error().source().begin.line << ": " << parsed.error().description();
    return failure(where.str());
  }
  Configuration config;
  uint32_t shards = 0;
  Table table(parsed.table(), path, "minke.toml");
  // Reports the first of several mistakes, in the order of these keys.
  read_cluster(table, config);
  read_job_rules(table, config);
  read_rights(table, config);
  read_sections(table, config, shards);
  const toml::array* nodes = table.tables("node");
  const toml::array* partitions = table.tables("partition");
  if (const Status finished = table.finish(); !finished) return failure(finished.error());
  if (const Status read = read_nodes(nodes, path, machine, shards, config); !read)
    return failure(read.error());
  if (const Status read = read_partitions(partitions, path, config); !read) return failure(read.error());
  give_whole_memory(config);
  return config;
}

Result<Configuration> load_configuration(const std::string& home, const std::string& path,
                                         const model::NodeRecord& machine) {
  const bool shared = os::is_shared(home);
  const bool slurm_alone = path.ends_with(".conf");
  const bool has_toml = !path.empty() && !slurm_alone;
  std::string text;
  if (has_toml) {
    auto found = read_configuration_file(path, shared);
    if (!found) return failure(found.error());
    text = std::move(*found);
  }
  auto config = parse_configuration(text, has_toml ? path : "(no configuration)", machine);
  if (!config) return config;
  config->home = home;
  config->shared = shared;
  config->source_path = path;
  if (has_toml) config->files.push_back(path);
  config->slurm_conf = slurm_alone || home.empty() ? path : os::slurm_conf_path(home);
  if (slurm_alone || (!home.empty() && ::access(config->slurm_conf.c_str(), F_OK) == 0)) {
    if (const Status read = read_slurm_conf(machine, *config); !read) return failure(read.error());
  }
  if (slurm_alone) config->slurm_release = read_release(path);
  if (const Status good = check_prologs(config->prologs, shared); !good)
    return failure(good.error().message, good.error().code);
  if (config->tmp_root.empty()) config->tmp_root = home + "/tmp";
  discover_gpus(*config);
  set_shares_of_gpus(*config);
  if (const Status good = check_machine(*config); !good) return failure(good.error());
  return config;
}

}  // namespace minke::config
