#include "engine/slurm/find.h"

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "config/cluster_choice.h"
#include "os/capture.h"
#include "os/minke_home.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

constexpr int kPingSeconds = 15;

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

// Whether Minke has, or had, a cluster of its own there. The directory alone says nothing: caches lie in it.
bool is_cluster(const std::string& home) {
  return os::is_shared(home) || is_there(os::database_path(home)) || is_there(os::socket_path(home)) ||
         is_there(os::configuration_path(home)) || is_there(os::slurm_conf_path(home));
}

// An executable squeue there that is none of Minke's links.
bool has_commands(const std::string& directory) {
  const std::string candidate = directory + "/squeue";
  char target[PATH_MAX];
  return ::access(candidate.c_str(), X_OK) == 0 &&
         (::realpath(candidate.c_str(), target) == nullptr || !std::string_view(target).ends_with("/minke"));
}

// Where a Slurm's client finds its configuration; empty: nowhere on this machine. `commands`: empty where
// they are not known.
std::string client_configuration(const std::string& commands) {
  if (std::string given = from_environment("SLURM_CONF"); !given.empty()) return given;
  // As distributions and sites have it; and what a daemon keeps where the cluster has no files on its nodes.
  std::string beside = commands.substr(0, commands.rfind('/')) + "/etc/slurm.conf";
  for (std::string path : {std::string("/etc/slurm/slurm.conf"), std::string("/etc/slurm-llnl/slurm.conf"),
                           std::string("/run/slurm/conf/slurm.conf"), std::move(beside)}) {
    if (is_there(path)) return path;
  }
  return {};
}

bool answers_without_configuration(const std::string& commands) {
  const auto told = os::run_captured({commands + "/scontrol", "ping"},
                                     {.timeout_seconds = kPingSeconds, .environment = {}});
  return told && told->exit_code == 0 && told->output.find(" is UP") != std::string::npos;
}

struct Said {
  config::ClusterChoice choice;
  std::string where;  // "MINKE_CLUSTER"
};

Result<Said> what_was_said(const std::string& home) {
  Said said;
  const std::string path = os::configuration_path(home);
  said.choice = config::load_cluster_choice(path);
  said.where = path;
  const std::string given = from_environment("MINKE_CLUSTER");
  if (given.empty()) return said;
  const size_t colon = given.find(':');
  const auto engine = config::parse_cluster_engine(given.substr(0, colon));
  if (!engine || (colon != std::string::npos && *engine != config::ClusterEngine::kSlurm))
    return failure("MINKE_CLUSTER is " + given +
                   "; it must be embedded, slurm, or slurm:NAME of one of its clusters");
  said.choice.engine = *engine;
  if (colon != std::string::npos) said.choice.name = given.substr(colon + 1);
  said.where = "MINKE_CLUSTER";
  return said;
}

}  // namespace

std::string commands_on_path() {
  const std::string path = from_environment("PATH");
  for (const std::string_view directory : text::split(path, ':')) {
    if (directory.empty() || directory.front() != '/') continue;
    if (has_commands(std::string(directory))) return std::string(directory);
  }
  return {};
}

namespace {

// On PATH; where there is a configuration of Slurm's, in the usual places, too: a crontab's PATH is short,
// and a cluster of Minke's own must not come of that.
std::string find_commands() {
  std::string directory = commands_on_path();
  if (!directory.empty() || client_configuration("").empty()) return directory;
  for (const char* usual : {"/usr/bin", "/usr/local/bin", "/opt/slurm/bin", "/usr/local/slurm/bin",
                            "/cm/shared/apps/slurm/current/bin"}) {
    if (has_commands(usual)) return usual;
  }
  return {};
}

}  // namespace

Result<std::optional<Found>> find_slurm() {
  using config::ClusterEngine;
  const std::string home = os::minke_home_path();
  const auto said = what_was_said(home);
  if (!said) return failure(said.error());
  const config::ClusterChoice& choice = said->choice;
  // Who names a cluster of Slurm's, or its slurmrestd, means it.
  const bool named = !choice.name.empty() || !choice.rest.empty();
  const bool meant =
      choice.engine == ClusterEngine::kSlurm || (choice.engine == ClusterEngine::kUnsaid && named);
  const bool own = !meant && (choice.engine == ClusterEngine::kEmbedded ||
                              !from_environment("MINKE_HOME").empty() || is_cluster(home));
  if (own) return std::nullopt;
  Found found;
  found.period = std::chrono::seconds(choice.period_seconds);
  found.place.directory = find_commands();
  found.place.cluster = choice.name;
  found.place.rest = choice.rest;
  found.place.agent_port = choice.agent_port;
  // As Slurm's own commands take it; of several clusters each would have to be asked.
  const std::string usual = from_environment("SLURM_CLUSTERS");
  if (found.place.cluster.empty() && usual.find(',') == std::string::npos && usual != "all")
    found.place.cluster = usual;
  if (found.place.directory.empty()) {
    if (!meant) return std::nullopt;
    return failure(said->where + " says that a Slurm is meant, but no squeue of one is on PATH", ENOENT);
  }
  found.place.found_by = client_configuration(found.place.directory);
  if (found.place.found_by.empty()) {
    if (!meant && !answers_without_configuration(found.place.directory)) return std::nullopt;
    found.place.found_by = "a configuration that slurmctld gives";
  }
  return found;
}

}  // namespace minke::engine::slurm
