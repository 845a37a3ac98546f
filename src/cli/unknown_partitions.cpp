#include "cli/unknown_partitions.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "engine/fetch.h"
#include "model/cluster.pb.h"
#include "text/nearest.h"
#include "text/printable.h"

namespace minke::cli {

void tell_of_unknown_partitions(engine::Engine& cluster, const char* command,
                                const std::vector<std::string>& named) {
  if (named.empty() || ::isatty(STDERR_FILENO) == 0) return;
  const auto partitions = engine::fetch_partitions(cluster);
  if (!partitions || partitions->records.empty()) return;
  std::vector<std::string> names;
  for (const model::PartitionRecord* one : partitions->records) names.push_back(one->name());
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  for (const std::string& word : named) {
    if (std::find(names.begin(), names.end(), word) != names.end()) continue;
    const std::string_view meant = text::nearest(word, candidates);
    std::fprintf(
        stderr, "%s: note: there is no partition %s%s\n", command, text::printable(word).c_str(),
        meant.empty() ? "; sinfo lists them" : ("; did you mean " + text::printable(meant) + "?").c_str());
  }
}

}  // namespace minke::cli
