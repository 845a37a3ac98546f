#include "config/cluster_choice.h"

#include "config/table.h"
#include "os/files.h"

namespace minke::config {

Result<ClusterEngine> parse_cluster_engine(const std::string& word) {
  if (word == "embedded") return ClusterEngine::kEmbedded;
  if (word == "slurm") return ClusterEngine::kSlurm;
  return failure("must be \"embedded\" or \"slurm\"");
}

void read_cluster_choice(Table& table, ClusterChoice& choice) {
  constexpr int64_t kLeast = 5, kMost = 3600;
  table.text("engine", [&](const std::string& given) -> Status {
    const auto engine = parse_cluster_engine(given);
    if (!engine) return failure(engine.error());
    choice.engine = *engine;
    return {};
  });
  table.text("name", [&](const std::string& given) -> Status {
    if (given.find_first_of(" \t,/") != std::string::npos) return failure("must be the name of one cluster");
    choice.name = given;
    return {};
  });
  table.text("rest", [&](const std::string& given) -> Status {
    if (given.find_first_of(" \t\r\n") != std::string::npos || given.find_first_of("/:") == std::string::npos)
      return failure("must be the path of slurmrestd's socket, or HOST:PORT");
    choice.rest = given;
    return {};
  });
  table.number("period", kLeast, kMost,
               [&](int64_t seconds) { choice.period_seconds = static_cast<uint32_t>(seconds); });
  table.number("agent_port", 0, 65535,
               [&](int64_t port) { choice.agent_port = static_cast<uint16_t>(port); });
}

ClusterChoice load_cluster_choice(const std::string& path) {
  constexpr size_t kMaxFileBytes = size_t{1} << 20;
  ClusterChoice choice;
  const auto text = path.empty() ? Result<std::string>(failure("none")) : os::read_file(path, kMaxFileBytes);
  if (!text || path.ends_with(".conf")) return choice;
  const toml::parse_result parsed = toml::parse(*text, path);
  if (!parsed) return choice;
  const toml::table* section = parsed.table()["cluster"].as_table();
  if (section == nullptr) return choice;
  Table table(*section, path, "[cluster]");
  read_cluster_choice(table, choice);
  return choice;
}

}  // namespace minke::config
