// Shares that follow from allocations: the core-years or RGU-years that an account was granted on a cluster.
//
// An allocation is a weight and not a cap. Among the children of one account, those with core-years or
// RGU-years get shares in proportion to them: 1000 for each core-year or RGU-year, as billing counts both.
// Their siblings with jobs divide the rest of the parent's allocation equally, or the rest of the whole
// cluster if the parent has none. A sibling without jobs has one share until its first job comes. Accounts
// whose names end in _cpu are measured against the cores, those in _gpu against the RGU, and all others
// against both together. Configured shares stay as they are for users, where no sibling has an allocation,
// and where the shares are "parent". Pure; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "accounts/account_book.h"
#include "sched/layout.h"

namespace minke::sched {

struct Capacity {
  double cores = 0;
  double rgu = 0;
};
// GPU types without a published RGU value count as 0.
Capacity capacity_of(const MachineLayout& layout);

// Returns the shares of every association. `is_active`: whether it has pending or running jobs.
std::unordered_map<std::uint32_t, std::uint32_t> allocation_shares(
    const accounts::AccountBook& book, const Capacity& capacity,
    const std::function<bool(std::uint32_t association)>& is_active);

}  // namespace minke::sched
