// The fair share of each association of a book: Fair Tree (fair_tree.h) over what each has used.
//
// The daemon and the simulator rank with this function. Pure.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "accounts/account_book.h"
#include "accounts/fair_tree.h"
#include "accounts/usage_book.h"

namespace minke::accounts {

// `totals` include all below, as in UsageBook::totals(). `shares` covers every association.
std::unordered_map<std::uint32_t, FairShare> fair_shares(
    const AccountBook& book, const UsageBook::Totals& totals,
    const std::unordered_map<std::uint32_t, std::uint32_t>& shares);

}  // namespace minke::accounts
