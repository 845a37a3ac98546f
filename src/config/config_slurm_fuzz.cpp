// Any slurm.conf: it makes a configuration with a node and one default partition, or an error that says
// where.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "config/slurm_conf.h"
#include "model/cluster.pb.h"

using namespace minke;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4096) return 0;
  model::NodeRecord machine;
  machine.set_name("here");
  machine.set_cpus(4);
  machine.set_sockets(1);
  machine.set_cores_per_socket(4);
  machine.set_threads_per_core(1);
  machine.set_memory_mib(8000);
  auto config = config::parse_configuration("", "minke.toml", machine);
  MINKE_CHECK(config.has_value());
  const Status applied = config::apply_slurm_conf(
      {.path = "slurm.conf", .text = std::string(reinterpret_cast<const char*>(data), size)}, machine,
      [](const std::string&) -> Result<std::string> { return "KillWait=4\nInclude again\n"; }, *config);
  if (!applied) {
    MINKE_CHECK(applied.error().message.starts_with("slurm.conf") ||
                applied.error().message.find(':') != std::string::npos);
    return 0;
  }
  MINKE_CHECK(!config->nodes.empty());
  for (const auto& node : config->nodes) MINKE_CHECK(node.cpus() > 0);
  MINKE_CHECK(std::count_if(config->partitions.begin(), config->partitions.end(),
                            [](const auto& partition) { return partition.is_default(); }) == 1);
  return 0;
}
