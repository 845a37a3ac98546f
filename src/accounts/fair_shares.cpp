#include "accounts/fair_shares.h"

#include <algorithm>
#include <vector>

#include "model/accounts.pb.h"

namespace minke::accounts {

std::unordered_map<std::uint32_t, FairShare> fair_shares(
    const AccountBook& book, const UsageBook::Totals& totals,
    const std::unordered_map<std::uint32_t, std::uint32_t>& shares) {
  // fair_tree() adds up usage from below itself, so it gets each one's own.
  const auto order = book.in_tree_order();
  std::vector<Association> tree;
  std::unordered_map<std::uint32_t, std::uint32_t> place;
  std::unordered_map<std::uint32_t, double> own;
  for (const std::uint32_t id : order) {
    const auto total = totals.find(id);
    const double raw = total == totals.end() ? 0 : total->second.raw;
    own[id] += raw;
    if (const std::uint32_t parent = book.parent(id); parent != 0) own[parent] -= raw;
  }
  for (const std::uint32_t id : order) {
    const model::AssociationRecord& record = *book.association(id);
    std::uint32_t parent = book.parent(id);
    // One that has its parent's shares is placed beside its parent's children.
    while (parent != 0 && book.parent(parent) != 0 && book.association(parent)->shares() == kSharesAsParent)
      parent = book.parent(parent);
    Association one;
    one.parent = parent == 0 ? Association::kRoot : place.at(parent);
    one.is_user = !record.user().empty();
    one.as_parent = record.shares() == kSharesAsParent && parent != 0;
    one.shares = record.shares() == kSharesAsParent ? 1 : shares.at(id);
    one.usage = std::max(0.0, own[id]);
    place[id] = static_cast<std::uint32_t>(tree.size());
    tree.push_back(one);
  }
  const auto ranked = fair_tree(tree);
  std::unordered_map<std::uint32_t, FairShare> found;
  for (const std::uint32_t id : order) found[id] = ranked[place.at(id)];
  return found;
}

}  // namespace minke::accounts
