#include "engine/embedded/simulation/three_nodes.h"

#include "config/testing.h"

namespace minke::engine::simulation {

Result<config::Configuration> three_nodes(const std::string& home, std::string_view settings,
                                          std::string_view tables) {
  const std::string text = std::string(settings) +
                           "\nkill_wait = 1\n"
                           "[[node]]\nname = \"n[1-3]\"\ncpus = 4\nmemory = \"4000M\"\ngpus = \"a100:2\"\n"
                           "[[partition]]\nname = \"main\"\nnodes = \"n[1-3]\"\ndefault = true\n"
                           "[[partition]]\nname = \"short\"\nnodes = \"n1\"\nmax_time = \"1:00:00\"\n" +
                           std::string(tables);
  auto config = config::parse_configuration(text, "minke.toml", config::testing::machine_of_four_cpus());
  if (!config) return config;
  config->home = home;
  config->tmp_root = home + "/tmp";
  config->shared = true;
  config->measuring_interval = 0;  // measuring has a thread and looks at real processes
  return config;
}

}  // namespace minke::engine::simulation
