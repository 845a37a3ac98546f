#include "node/cpu_pool.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>
#include <utility>

namespace minke::node {
namespace {

int number_in(const std::string& path) {
  int number = 0;
  std::ifstream(path) >> number;
  return number;
}

// The kernel shows it as a link beside the CPU's files, "node1".
int memory_of(const std::string& root, uint32_t cpu) {
  std::error_code error;
  const std::string directory = root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    int memory = 0;
    if (std::sscanf(entry.path().filename().c_str(), "node%d", &memory) == 1) return memory;
  }
  return 0;
}

}  // namespace

CpuPool::CpuPool(std::vector<Cpu> cpus) {
  std::sort(cpus.begin(), cpus.end(), [](const Cpu& a, const Cpu& b) {
    return std::tie(a.package, a.memory, a.core, a.number) < std::tie(b.package, b.memory, b.core, b.number);
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
    cpus.push_back({number, number_in(topology + "physical_package_id"), number_in(topology + "core_id"),
                    memory_of(root, number)});
  }
  return CpuPool(std::move(cpus));
}

std::vector<CpuPool::Slot*> CpuPool::candidates(size_t count) {
  for (const bool memories : {true, false}) {
    const auto place_of = [&](const Slot& slot) {
      return std::pair(slot.cpu.package, memories ? slot.cpu.memory : 0);
    };
    std::map<std::pair<int, int>, size_t> unused;
    for (const Slot& slot : slots_) unused[place_of(slot)] += slot.uses == 0;
    const std::pair<const std::pair<int, int>, size_t>* best = nullptr;
    for (const auto& place : unused) {
      if (place.second >= count && (best == nullptr || place.second < best->second)) best = &place;
    }
    if (best == nullptr) continue;
    std::vector<Slot*> found;
    for (Slot& slot : slots_) {
      if (place_of(slot) == best->first) found.push_back(&slot);
    }
    return found;
  }
  std::vector<Slot*> all;
  for (Slot& slot : slots_) all.push_back(&slot);
  return all;
}

std::vector<uint32_t> CpuPool::take(size_t count) {
  if (count == 0 || count > slots_.size()) return {};
  std::vector<Slot*> order = candidates(count);
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
