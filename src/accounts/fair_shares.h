// The fair share of each association of an account book: Fair Tree (fair_tree.h) applied to recorded usage.
//
// The daemon and the simulator both rank associations with this function. Pure; any thread.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "accounts/account_book.h"
#include "accounts/fair_tree.h"
#include "accounts/usage_book.h"

namespace minke::accounts {

// `totals` include all associations below, as in UsageBook::totals(). `shares` has every association.
std::unordered_map<std::uint32_t, FairShare> fair_shares(
    const AccountBook& book, const UsageBook::Totals& totals,
    const std::unordered_map<std::uint32_t, std::uint32_t>& shares);

}  // namespace minke::accounts
