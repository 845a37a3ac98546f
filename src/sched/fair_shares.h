// The fair share of each association of a book: Fair Tree (fair_tree.h) over what each has used.
//
// The daemon and the simulator rank by the same. Pure.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "sched/account_book.h"
#include "sched/fair_tree.h"
#include "sched/usage_book.h"

namespace minke::sched {

// `totals`: with all below, as UsageBook::totals() gives it. `shares`: of every association.
std::unordered_map<std::uint32_t, FairShare> fair_shares(
    const AccountBook& book, const UsageBook::Totals& totals,
    const std::unordered_map<std::uint32_t, std::uint32_t>& shares);

}  // namespace minke::sched
