#include "sched/cpu_numbers.h"

#include <algorithm>

#include "text/number.h"
#include "text/tres.h"

namespace minke::sched {
namespace {

constexpr std::uint32_t kMostCpus = 1 << 16;  // of one node

// "0-1,4"
std::vector<std::uint32_t> numbers_in(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  for (const std::string_view part : text::split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = text::parse_unsigned(part.substr(0, dash), kMostCpus - 1);
    const auto last =
        dash == std::string_view::npos ? first : text::parse_unsigned(part.substr(dash + 1), kMostCpus - 1);
    if (!first || !last) continue;
    for (std::uint64_t number = *first; number <= *last; ++number)
      numbers.push_back(static_cast<std::uint32_t>(number));
  }
  return numbers;
}

}  // namespace

std::string CpuNumbers::choose(const std::string& node, std::uint32_t cpus_of_node,
                               std::uint32_t count) const {
  const std::uint32_t cpus = std::min(cpus_of_node, kMostCpus);
  const auto known = uses_.find(node);
  const auto uses = [&](std::uint32_t number) -> std::uint32_t {
    return known == uses_.end() || number >= known->second.size() ? 0 : known->second[number];
  };
  std::vector<std::uint32_t> all(cpus);
  for (std::uint32_t i = 0; i < cpus; ++i) all[i] = i;
  std::stable_sort(all.begin(), all.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return uses(a) < uses(b); });
  all.resize(std::min<std::size_t>(all.size(), count));
  return text::format_indices(all);
}

void CpuNumbers::take(std::uint32_t job_id, const std::string& node, std::string_view numbers) {
  Held held{node, numbers_in(numbers)};
  if (held.numbers.empty()) return;
  std::vector<std::uint16_t>& uses = uses_[node];
  for (const std::uint32_t number : held.numbers) {
    if (number >= uses.size()) uses.resize(number + 1);
    ++uses[number];
  }
  held_[job_id].push_back(std::move(held));
}

void CpuNumbers::give_back(std::uint32_t job_id) {
  const auto found = held_.find(job_id);
  if (found == held_.end()) return;
  for (const Held& held : found->second) {
    std::vector<std::uint16_t>& uses = uses_[held.node];
    for (const std::uint32_t number : held.numbers) --uses[number];
  }
  held_.erase(found);
}

}  // namespace minke::sched
