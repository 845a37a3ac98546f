#include "sched/preemption.h"

#include <algorithm>

#include "sched/placer.h"

namespace minke::sched {

std::optional<std::vector<std::size_t>> choose_victims(const Machine& machine, const Request& request,
                                                       std::span<const std::vector<Placement>> freed,
                                                       std::int64_t now) {
  std::int64_t end = now + request.planned_seconds();
  for (const Request& companion : request.companions) end = std::max(end, now + companion.planned_seconds());
  Machine scratch = machine;
  const auto fits = [&] { return place_together(scratch, request, nullptr, now, end).has_value(); };
  std::vector<std::size_t> chosen;
  for (std::size_t next = 0; !fits(); ++next) {
    if (next == freed.size()) return std::nullopt;
    for (const Placement& placement : freed[next]) scratch.release(placement);
    chosen.push_back(next);
  }
  // The one that was decisive stays; of the others those that come last are spared first.
  for (std::size_t i = chosen.empty() ? 0 : chosen.size() - 1; i-- > 0;) {
    for (const Placement& placement : freed[chosen[i]]) scratch.adopt(placement);
    if (fits()) {
      chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      for (const Placement& placement : freed[chosen[i]]) scratch.release(placement);
    }
  }
  return chosen;
}

}  // namespace minke::sched
