// Shares that follow from allocations: how much of a cluster for a year each account has been given.
//
// An allocation is a weight, not a cap. Among the children of one account those with core-years or RGU-years
// have shares in proportion to them: a thousand for each year of a core or of an RGU, as billing counts
// both. The others share equally what is left: of the parent's own allocation, or of the whole cluster where
// it has none. Only those with jobs get a part of it; one without shares has one, until the first job
// comes. Accounts whose names end in _cpu are measured against the cores, those in _gpu against the RGU, all
// others against both together. Where no child has an allocation, and for users, shares are as they were
// given; so are shares as the parent's. Pure.
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
// GPUs of types that have no published RGU count for nothing.
Capacity capacity_of(const MachineLayout& layout);

// By association, for all of them. `is_active`: whether it has jobs, pending or running.
std::unordered_map<std::uint32_t, std::uint32_t> allocation_shares(
    const accounts::AccountBook& book, const Capacity& capacity,
    const std::function<bool(std::uint32_t association)>& is_active);

}  // namespace minke::sched
