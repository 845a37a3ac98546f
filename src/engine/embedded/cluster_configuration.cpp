#include "engine/embedded/cluster_configuration.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "os/fd.h"
#include "os/files.h"
#include "os/log.h"
#include "os/minke_home.h"
#include "store/store.h"

namespace minke::engine {

void offer_slurm_conf(const std::string& home) {
  constexpr std::string_view kText =
      "# Parameters, nodes and partitions in the words of slurm.conf(5). What is set here comes before "
      "minke.toml.\n"
      "# Read when Minke starts, and, but for nodes and ClusterName, by `scontrol reconfigure`.\n";
  constexpr mode_t kMode = 0644;
  const os::UniqueFd file(
      ::open(os::slurm_conf_path(home).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  if (!file) return;
  [[maybe_unused]] const ssize_t written = ::write(file.get(), kText.data(), kText.size());
  [[maybe_unused]] const int opened = ::fchmod(file.get(), kMode);  // independent of the umask
}

std::vector<api::ConfigurationFile> files_of(const config::Configuration& config) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  std::vector<std::string> paths = config.files;
  if (config.source_path.empty())
    paths.push_back(config.home == os::kSharedHome ? os::kSharedConfiguration : config.home + "/minke.toml");
  if (std::find(paths.begin(), paths.end(), config.slurm_conf) == paths.end())
    paths.push_back(config.slurm_conf);
  std::vector<api::ConfigurationFile> files;
  for (const std::string& path : paths) {
    api::ConfigurationFile& file = files.emplace_back();
    file.set_path(path);
    if (const auto text = os::read_file(path, kMostBytes)) file.set_digest(store::hash_content(*text));
  }
  return files;
}

Result<config::Configuration> read_cluster_configuration(const std::string& home,
                                                         const std::string& given_path,
                                                         const model::NodeRecord& machine) {
  const bool shared = os::is_shared(home);
  // The file may have been created since the daemon started.
  const std::string path = given_path.empty() ? os::configuration_path(home) : given_path;
  auto config = config::load_configuration(home, path, machine);
  if (!config) return config;
  for (const std::string& unused : config->unused) os::log_info(unused + " is not used here");
  config->shared = shared;
  constexpr uint32_t kSharedPids = 16384;  // a fork bomb must leave room for other users
  if (shared && config->private_tmp &&
      (config->home.starts_with("/tmp/") || config->tmp_root.starts_with("/tmp/")))
    return failure(
        "with private_tmp, jobs cannot see what is below /tmp: neither the home nor tmp_root may be there");
  if (shared && config->private_jobs && !config->metrics.empty())
    return failure("metrics would show everybody what private_jobs hides: have one of them");
  if (shared && config->max_pids == 0) config->max_pids = kSharedPids;
  return config;
}

}  // namespace minke::engine
