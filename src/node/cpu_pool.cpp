#include "node/cpu_pool.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <tuple>

namespace minke::node {
namespace {

int number_in(const std::string& path) {
  int number = 0;
  std::ifstream(path) >> number;
  return number;
}

}  // namespace

CpuPool::CpuPool(std::vector<Cpu> cpus) {
  std::sort(cpus.begin(), cpus.end(), [](const Cpu& a, const Cpu& b) {
    return std::tie(a.package, a.core, a.number) < std::tie(b.package, b.core, b.number);
  });
  for (const Cpu& cpu : cpus) slots_.push_back({cpu, 0});
}

CpuPool CpuPool::of_machine(const std::string& root) {
  std::vector<Cpu> cpus;
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return CpuPool({});
  for (uint32_t number = 0; number < CPU_SETSIZE; ++number) {
    if (!CPU_ISSET(number, &allowed)) continue;
    const std::string topology = root + "/sys/devices/system/cpu/cpu" + std::to_string(number) + "/topology/";
    cpus.push_back({number, number_in(topology + "physical_package_id"), number_in(topology + "core_id")});
  }
  return CpuPool(std::move(cpus));
}

std::vector<uint32_t> CpuPool::take(size_t count) {
  if (count == 0 || count > slots_.size()) return {};
  // The socket where they fit most tightly.
  std::map<int, size_t> unused;
  for (const Slot& slot : slots_) unused[slot.cpu.package] += slot.uses == 0;
  std::optional<int> package;
  for (const auto& [candidate, free] : unused) {
    if (free >= count && (!package || free < unused[*package])) package = candidate;
  }
  std::vector<Slot*> order;
  for (Slot& slot : slots_) {
    if (!package || slot.cpu.package == *package) order.push_back(&slot);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Slot* a, const Slot* b) { return a->uses < b->uses; });
  std::vector<uint32_t> numbers;
  for (size_t i = 0; i < count; ++i) {
    ++order[i]->uses;
    numbers.push_back(order[i]->cpu.number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

void CpuPool::give_back(const std::vector<uint32_t>& numbers) {
  for (const uint32_t number : numbers) {
    for (Slot& slot : slots_) {
      if (slot.cpu.number == number && slot.uses > 0) --slot.uses;
    }
  }
}

}  // namespace minke::node
