// Any minke.toml gives a configuration with a node and one default partition, or an error that says where.
#include <cstddef>
#include <cstdint>
#include <string>

#include "config/testing.h"

using namespace minke;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4096) return 0;
  const auto config = config::parse_configuration(std::string(reinterpret_cast<const char*>(data), size),
                                                  "minke.toml", config::testing::machine_of_four_cpus());
  if (config) {
    config::testing::check_is_a_cluster(*config);
  } else {
    MINKE_CHECK(!config.error().message.empty());
  }
  return 0;
}
