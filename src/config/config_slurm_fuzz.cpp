// Any slurm.conf gives a configuration with a node and one default partition, or an
// error that says where.
#include <cstddef>
#include <cstdint>
#include <string>

#include "config/slurm_conf.h"
#include "config/testing.h"

using namespace minke;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4096) return 0;
  const model::NodeRecord machine = config::testing::machine_of_four_cpus();
  auto config = config::parse_configuration("", "minke.toml", machine);
  MINKE_CHECK(config.has_value());
  const Status applied = config::apply_slurm_conf(
      {.path = "slurm.conf", .text = std::string(reinterpret_cast<const char*>(data), size)}, machine,
      [](const std::string&) -> Result<std::string> { return "KillWait=4\nInclude again\n"; }, *config);
  if (applied) {
    config::testing::check_is_a_cluster(*config);
  } else {
    MINKE_CHECK(applied.error().message.starts_with("slurm.conf") ||
                applied.error().message.find(':') != std::string::npos);
  }
  return 0;
}
