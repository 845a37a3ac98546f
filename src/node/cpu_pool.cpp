#include "node/cpu_pool.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace minke::node {
namespace {

// What processors may share, from narrow to wide.
constexpr size_t kLevels = 3;
using Place = std::array<int, kLevels>;

Place place_of(const Processor& cpu, size_t level) {
  Place place = {cpu.package, cpu.memory, cpu.cache};
  std::fill(place.end() - static_cast<std::ptrdiff_t>(level), place.end(), 0);
  return place;
}

}  // namespace

CpuPool::CpuPool(std::vector<Processor> processors) {
  std::sort(processors.begin(), processors.end(), [](const Processor& a, const Processor& b) {
    return std::tie(a.package, a.memory, a.cache, a.core, a.number) <
           std::tie(b.package, b.memory, b.cache, b.core, b.number);
  });
  for (const Processor& processor : processors) slots_.push_back({processor, 0});
}

std::vector<CpuPool::Slot*> CpuPool::candidates(size_t count, const std::set<uint32_t>& near) {
  struct Room {
    size_t unused = 0, near = 0;
  };
  for (size_t level = 0; level < kLevels; ++level) {
    std::map<Place, Room> rooms;
    for (const Slot& slot : slots_) {
      if (slot.uses != 0) continue;
      Room& room = rooms[place_of(slot.cpu, level)];
      ++room.unused;
      room.near += near.contains(slot.cpu.number);
    }
    const std::pair<const Place, Room>* best = nullptr;
    for (const auto& one : rooms) {
      if (one.second.unused < count) continue;
      // Near enough first, then the room where they fit most tightly.
      const auto rank = [&](const Room& room) {
        return std::pair(count - std::min(count, room.near), room.unused);
      };
      if (best == nullptr || rank(one.second) < rank(best->second)) best = &one;
    }
    // Two rooms near the GPUs are better than one far from them.
    if (best == nullptr || (!near.empty() && best->second.near == 0)) continue;
    std::vector<Slot*> found;
    for (Slot& slot : slots_) {
      if (place_of(slot.cpu, level) == best->first) found.push_back(&slot);
    }
    return found;
  }
  std::vector<Slot*> all;
  for (Slot& slot : slots_) all.push_back(&slot);
  return all;
}

std::vector<uint32_t> CpuPool::take(size_t count, const std::set<uint32_t>& near) {
  if (count == 0 || count > slots_.size()) return {};
  const bool some_near = std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    return slot.uses == 0 && near.contains(slot.cpu.number);
  });
  std::vector<Slot*> order = candidates(count, some_near ? near : std::set<uint32_t>());
  std::stable_sort(order.begin(), order.end(), [&](const Slot* a, const Slot* b) {
    const bool a_far = !near.contains(a->cpu.number), b_far = !near.contains(b->cpu.number);
    return std::tie(a->uses, a_far) < std::tie(b->uses, b_far);
  });
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
