// Any minke.toml: it is a configuration with a node and one default partition, or an error that says where.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "config/configuration.h"
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
  const auto config = config::parse_configuration(std::string(reinterpret_cast<const char*>(data), size),
                                                  "minke.toml", machine);
  if (!config) {
    MINKE_CHECK(!config.error().message.empty());
    return 0;
  }
  MINKE_CHECK(!config->nodes.empty());
  MINKE_CHECK(std::count_if(config->partitions.begin(), config->partitions.end(),
                            [](const auto& partition) { return partition.is_default(); }) == 1);
  return 0;
}
