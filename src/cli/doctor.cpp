#include "cli/doctor.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/daemon.pb.h"
#include "cli/finding.h"
#include "cli/guard.h"
#include "cli/links.h"
#include "cli/slurm_doctor.h"
#include "config/configuration.h"
#include "engine/open.h"
#include "helpers/tier_places.h"
#include "model/cluster.pb.h"
#include "node/control_groups.h"
#include "node/discovery.h"
#include "node/namespaces.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "store/store.h"
#include "text/characters.h"
#include "text/memory.h"
#include "text/translate.h"

namespace minke::cli {

using text::marked;
using text::tr;

namespace {

constexpr long kNfs = 0x6969;
constexpr uint64_t kLittleSpaceMib = 200;
std::string tell_root() {
  return tr("this cluster is root's: tell an administrator");
}

// Whether the cluster is root's and another user asks: what only root may read is not broken then.
bool is_of_root(const std::string& home) {
  return os::is_shared(home) && ::geteuid() != 0;
}

void check_home(const std::string& home, std::vector<Finding>& findings) {
  struct statvfs space {};
  if (::statvfs(home.c_str(), &space) == 0) {
    const uint64_t free_mib = (static_cast<uint64_t>(space.f_bavail) * space.f_frsize) >> 20;
    if (free_mib < kLittleSpaceMib) {
      findings.push_back({Level::kBad, tr("only {} MiB are free under {}", {std::to_string(free_mib), home}),
                          is_of_root(home)
                              ? tell_root()
                              : tr("free some space, or set MINKE_HOME to a directory on another disk")});
    } else {
      findings.push_back(
          {Level::kGood,
           tr("state directory {}, {} free", {home, text::format_mib(free_mib, text::Scaling::kAny)}), ""});
    }
    if (space.f_favail == 0 && space.f_files != 0) {
      findings.push_back({Level::kBad, tr("no inodes are left under {}", {home}),
                          is_of_root(home) ? tell_root() : tr("remove small files, or set MINKE_HOME")});
    }
  }
  struct statfs type {};
  if (::statfs(home.c_str(), &type) == 0 && type.f_type == kNfs) {
    findings.push_back({Level::kBad,
                        tr("{} is on NFS, where locks and sockets are not to be relied on", {home}),
                        is_of_root(home) ? tell_root() : "export MINKE_HOME=/var/tmp/minke-$USER"});
  }
}

// What several machines purge or make snapshots of, one of them is to do.
void check_storage(const config::StorageConfiguration& storage, const std::string& home,
                   std::vector<Finding>& findings) {
  if (!storage.purge && !storage.snapshots) return;
  const helpers::KeptHere here(storage.keeper);
  for (const storage::Tier& tier : storage.tiers(home)) {
    const std::string path = tier.path.substr(0, tier.path.find('%'));
    if (path.empty() || tier.of_node || !here.is_on_network(path)) continue;
    if (storage.keeper.empty()) {
      findings.push_back({Level::kNote, path + " is on a network file system, and this machine keeps it",
                          "if other machines use it with Minke, too: [storage] keeper = \"NAME\""});
    } else {
      findings.push_back({Level::kGood,
                          path + " is on a network file system, which " +
                              (here.keeps(path) ? "this machine" : storage.keeper) + " keeps",
                          ""});
    }
  }
}

bool may_read(const std::string& path) {
  return path.empty() || ::access(path.c_str(), R_OK) == 0 || errno == ENOENT;
}

void check_configuration(const std::string& home, std::vector<Finding>& findings) {
  const std::string path = os::configuration_path(home);
  if (is_of_root(home) && !(may_read(path) && may_read(os::slurm_conf_path(home)))) {
    findings.push_back({Level::kNote, tr("the configuration is root's to read, and to check"), ""});
    return;
  }
  const model::NodeRecord machine = node::discover_machine();
  const auto config = config::load_configuration(home, path, machine);
  if (!config) {
    findings.push_back({Level::kBad, config.error().message,
                        is_of_root(home) ? tell_root()
                        : path.empty()   ? tr("mend that line")
                                         : tr("mend that line in {}", {path})});
    return;
  }
  findings.push_back({Level::kGood,
                      config->files.empty()
                          ? tr("no configuration: this machine as one node")
                          : tr("configuration {}", {fmt::format("{}", fmt::join(config->files, ", "))}),
                      ""});
  if (!config->unused.empty()) {
    findings.push_back(
        {Level::kNote, tr("not used here: {}", {fmt::format("{}", fmt::join(config->unused, ", "))}), ""});
  }
  uint32_t cpus = 0;
  bool virtual_gpus = false;
  std::string gpus;
  for (const auto& node : config->nodes) {
    cpus += node.cpus();
    for (const auto& gres : node.gres()) {
      if (gres.name() != "gpu") continue;
      virtual_gpus |= node.virtual_gres();
      if (node.gpu_devices().empty()) continue;
      gpus += (gpus.empty() ? "" : ", ") + node.name() + " has " + std::to_string(gres.count()) + " " +
              gres.type();
    }
  }
  if (cpus > machine.cpus()) {
    findings.push_back({Level::kNote,
                        tr("the nodes offer {} CPUs, this machine has {}: jobs will share them",
                           {std::to_string(cpus), std::to_string(machine.cpus())}),
                        ""});
  }
  if (!gpus.empty()) findings.push_back({Level::kGood, "GPUs: " + gpus, ""});
  if (!config->gpu_problem.empty())
    findings.push_back({Level::kBad, "GPUs: " + config->gpu_problem, tr("nvidia-smi tells more")});
  if (virtual_gpus)
    findings.push_back({Level::kNote, tr("GPUs are virtual: counted, but no such device is there"), ""});
  check_storage(config->storage, home, findings);
}

// Returns the systemd unit that a process belongs to; empty if none.
std::string unit_of(uint32_t pid) {
  const auto groups = os::read_file("/proc/" + std::to_string(pid) + "/cgroup", 1 << 16);
  constexpr std::string_view kService = ".service";
  const size_t end = groups ? groups->find(kService) : std::string::npos;
  if (end == std::string::npos) return "";
  const size_t begin = groups->rfind('/', end) + 1;
  return groups->substr(begin, end + kService.size() - begin);
}

// If the launcher were in the daemon's unit, a restart of the daemon would kill it, and all jobs with it.
void check_units(uint32_t daemon, uint32_t launcher, std::vector<Finding>& findings) {
  const std::string unit = unit_of(daemon);
  if (unit.empty() || ::geteuid() != 0 || !unit.starts_with("minke")) return;
  if (launcher == 0) {
    findings.push_back(
        {Level::kBad, tr("the daemon waits for systemd's launcher"), "systemctl status minke-launcher"});
  } else if (unit_of(launcher) == unit) {
    findings.push_back({Level::kBad, "the launcher and the jobs belong to the daemon's unit, " + unit,
                        "when nothing runs: systemctl restart minke-launcher minke"});
  } else {
    findings.push_back({Level::kGood, "systemd keeps the launcher, as " + unit_of(launcher), ""});
  }
}

// Returns what has happened to a file since the daemon read it; empty: nothing.
std::string changed_since(const api::ConfigurationFile& known) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  const auto text = os::read_file(known.path(), kMostBytes);
  if (!text)
    return text.error().code != ENOENT || known.digest().empty() ? "" : tr("{} is gone", {known.path()});
  if (known.digest().empty()) return tr("{} has been made", {known.path()});
  return store::hash_content(*text) == known.digest() ? "" : tr("{} has changed", {known.path()});
}

// Checks that the daemon uses what the files say now, and that a new one from this shell would read the same.
void compare_configuration(const std::string& home, const api::StatusReply& daemon,
                           std::vector<Finding>& findings) {
  std::vector<std::string> changes;
  for (const api::ConfigurationFile& file : daemon.configuration_files()) {
    if (std::string change = changed_since(file); !change.empty()) changes.push_back(std::move(change));
  }
  if (!changes.empty())
    findings.push_back(
        {Level::kBad,
         tr("{} since the daemon read its configuration", {fmt::format("{}", fmt::join(changes, ", "))}),
         is_of_root(home) ? tell_root()
                          : tr("scontrol reconfigure; for nodes: minke down --keep-jobs; minke up")});
  const std::string given = std::getenv("MINKE_CONFIG") == nullptr ? "" : os::configuration_path(home);
  if (!given.empty() && given != daemon.config_path())
    findings.push_back({Level::kNote,
                        "MINKE_CONFIG is " + given + " here, but the daemon goes by " +
                            (daemon.config_path().empty() ? "no file" : daemon.config_path()),
                        "minke down --keep-jobs; minke up"});
}

void check_daemon(const std::string& home, std::vector<Finding>& findings) {
  auto cluster = engine::open(engine::Start::kNever);
  if (!cluster) {
    findings.push_back(is_of_root(home) ? Finding{Level::kBad, tr("no daemon runs"), tell_root()}
                                        : Finding{Level::kNote, tr("no daemon runs"), "minke up"});
    return;
  }
  const auto ability = (*cluster)->administration();
  const auto answer = ability ? (*ability)->status() : failure(ability.error());
  if (!answer) {
    findings.push_back({Level::kBad, tr("the daemon does not answer: {}", {answer.error().message}),
                        is_of_root(home) ? tell_root()
                                         : "minke log; then, if it hangs: kill $(cat "
                                           "\"$MINKE_HOME\"/minked.pid); minke up"});
    return;
  }
  findings.push_back({Level::kGood, tr("daemon pid {} answers", {std::to_string(answer->pid())}), ""});
  compare_configuration(home, *answer, findings);
  check_units(answer->pid(), answer->launcher_pid(), findings);
  for (const std::string& problem : answer->problems()) {
    findings.push_back({Level::kBad, problem, is_of_root(home) ? tell_root() : "minke log"});
  }
}

void check_limits(std::vector<Finding>& findings) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < 4096) {
    findings.push_back({Level::kBad, tr("at most {} files may be open", {std::to_string(files.rlim_max)}),
                        tr("raise '{}' in /etc/security/limits.conf, and log in again", {"nofile"})});
  }
  rlimit processes{};
  if (::getrlimit(RLIMIT_NPROC, &processes) == 0 && processes.rlim_max < 512) {
    findings.push_back({Level::kBad, tr("at most {} processes may run", {std::to_string(processes.rlim_max)}),
                        tr("raise '{}' in /etc/security/limits.conf, and log in again", {"nproc"})});
  }
  struct stat status {};
  if (::stat("/tmp", &status) != 0 || (status.st_mode & 01777) != 01777) {
    findings.push_back({Level::kBad, tr("/tmp is not open to everybody"), "sudo chmod 1777 /tmp"});
  }
}

// Checks by doing what the launcher does: that of a shared cluster confines jobs to more.
void check_control_groups(std::vector<Finding>& findings) {
  const auto home = os::minke_home();
  const bool shared = home && os::is_shared(*home) && ::geteuid() == 0;
  auto groups = node::ControlGroups::find("doctor-" + std::to_string(::getpid()), shared);
  Status works = groups ? groups->prepare() : Status(failure(groups.error()));
  if (works) works = groups->create("probe", {});
  if (groups) {
    [[maybe_unused]] const Status removed = groups->remove("probe");
    [[maybe_unused]] const Status removed_all = groups->remove_all();
  }
  if (!works) {
    findings.push_back(
        {Level::kNote,
         tr("jobs are not held to their memory (no control groups): {}", {works.error().message}),
         tr("the kernel gives control groups to root, and to services that systemd starts with "
            "Delegate=yes")});
    return;
  }
  std::string names;
  for (const std::string& name : groups->controllers()) names += (names.empty() ? "" : ", ") + name;
  findings.push_back(
      {Level::kGood,
       tr("jobs are confined by control groups (version {}: {})", {std::to_string(groups->version()), names}),
       ""});
  if (::geteuid() != 0) return;
  if (groups->devices_problem().empty()) {
    findings.push_back({Level::kGood, tr("jobs cannot open GPUs of others"), ""});
    for (const std::string& group : home ? guarded_groups(*home) : std::vector<std::string>())
      findings.push_back({Level::kGood, tr("outside of jobs, no process of {} can open GPUs", {group}), ""});
  } else {
    findings.push_back(
        {Level::kNote, tr("jobs can open GPUs of others: {}", {groups->devices_problem()}), ""});
  }
}

// Checks what only root's launcher can do.
void check_namespaces(std::vector<Finding>& findings) {
  if (::geteuid() != 0) {
    findings.push_back(
        {Level::kNote,
         tr("jobs see this machine's name and network: only root's cluster can give them others"), ""});
    return;
  }
  findings.push_back(
      node::can_name_hosts()
          ? Finding{Level::kGood, tr("jobs see the names of virtual nodes, which resolve to this machine"),
                    ""}
          : Finding{Level::kNote,
                    tr("jobs see this machine's name on virtual nodes: the kernel refuses others"), ""});
  const auto network = node::make_offline_network();
  findings.push_back(
      network ? Finding{Level::kGood, tr("partitions can be offline"), ""}
              : Finding{Level::kNote, tr("partitions cannot be offline: {}", {network.error().message}), ""});
}

}  // namespace

namespace {

// Of Minke's own cluster, and of this machine, which is its node.
void check_own_cluster(std::vector<Finding>& findings) {
  if (auto home = os::minke_home(); !home) {
    findings.push_back({Level::kBad, home.error().message, "export MINKE_HOME=DIRECTORY"});
  } else {
    check_home(*home, findings);
    check_configuration(*home, findings);
    check_daemon(*home, findings);
    if (const std::string real = real_slurm_command(*home); !real.empty()) {
      findings.push_back({Level::kNote,
                          tr("a real Slurm is on PATH ({}): minke env leaves its commands alone", {real}),
                          tr("MINKE_CLUSTER=slurm speaks with it; eval \"$(minke env --over-slurm)\" puts "
                             "Minke's commands in front")});
    }
  }
  check_limits(findings);
  // For a shared cluster root has to ask.
  const auto home = os::minke_home();
  if (!home || !os::is_shared(*home) || ::geteuid() == 0) {
    check_control_groups(findings);
    check_namespaces(findings);
  }
}

}  // namespace

int doctor(bool json) {
  std::optional<text::InEnglish> english;
  if (json) english.emplace();
  std::vector<Finding> findings;
  // A real Slurm, where one is meant: this machine is no node then, or none that is Minke's to look after.
  if (!check_slurm(findings)) check_own_cluster(findings);
  bool bad = false;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    bad |= finding.level == Level::kBad;
    const std::string_view level = finding.level == Level::kGood   ? marked("ok")
                                   : finding.level == Level::kNote ? marked("note")
                                                                   : marked("problem");
    if (json) {
      list.push_back({{"level", level}, {"what", finding.what}, {"remedy", finding.remedy}});
      continue;
    }
    std::printf("%s %s\n", text::padded(tr(level), 8).c_str(), finding.what.c_str());
    if (!finding.remedy.empty()) std::printf("         -> %s\n", finding.remedy.c_str());
  }
  if (json) std::puts(nlohmann::ordered_json{{"findings", list}}.dump().c_str());
  return bad ? 1 : 0;
}

}  // namespace minke::cli
