#include "engine/embedded/scheduling/world.h"

#include "base/result.h"
#include "text/hostlist.h"

namespace minke::engine {

std::optional<sched::EntryId> World::entry_of(const Job& job) const {
  for (size_t i = 0; job.queued && i < job.choices; ++i) {
    if (queue_.find(entry_of(job.id, i))) return entry_of(job.id, i);
  }
  return std::nullopt;
}

const sched::Request* World::request_of(const Job& job) const {
  const auto entry = entry_of(job);
  return entry ? queue_.request_of(*entry) : nullptr;
}

std::optional<sched::ForecastInPieces> World::forecast(const Job& job, int64_t now,
                                                       const sched::ForecastOptions& options) const {
  const auto entry = entry_of(job);
  if (!entry) return std::nullopt;
  return sched::ForecastInPieces::forecast_entry(machine_, queue_, running_, *entry, now, options);
}

sched::Machine build_machine(const std::vector<model::NodeRecord>& nodes,
                             const std::vector<model::PartitionRecord>& partitions,
                             const std::vector<std::pair<std::string, uint32_t>>& licenses) {
  std::vector<sched::PartitionNodes> members;
  for (const auto& partition : partitions) {
    auto names = text::expand_hostlist(partition.nodes());
    MINKE_CHECK(names.has_value());
    members.push_back({partition.name(), std::move(*names)});
  }
  std::vector<sched::LicensePool> pools;
  for (const auto& [name, count] : licenses) pools.push_back({name, count});
  auto machine = sched::Machine::build(nodes, members, std::move(pools));
  MINKE_CHECK(machine.has_value());
  return std::move(*machine);
}

}  // namespace minke::engine
