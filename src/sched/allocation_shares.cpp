#include "sched/allocation_shares.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "accounts/billing.h"
#include "model/accounts.pb.h"

namespace minke::sched {
namespace {

constexpr double kSharesPerYear = 1000;

enum Kind { kCpu, kGpu, kBoth, kKinds };

Kind kind_of(std::string_view account) {
  return account.ends_with("_cpu") ? kCpu : account.ends_with("_gpu") ? kGpu : kBoth;
}

// Of an account of this kind, in core-years or RGU-years.
double years_of(Kind kind, double cores, double rgu) {
  return (kind == kGpu ? 0 : cores) + (kind == kCpu ? 0 : rgu);
}

std::uint32_t shares_of(double years) {
  return static_cast<std::uint32_t>(std::clamp(std::round(years * kSharesPerYear), 1.0,
                                               static_cast<double>(accounts::kSharesAsParent - 1)));
}

}  // namespace

Capacity capacity_of(const MachineLayout& layout) {
  Capacity capacity;
  for (std::size_t id = 0; id < layout.nodes().size(); ++id) {
    capacity.cores += layout.nodes()[id].cpus;
    for (const GresPool& pool : layout.pools_of(static_cast<NodeId>(id))) {
      if (layout.gres_name(pool.name) != "gpu") continue;
      capacity.rgu += accounts::rgu_of(layout.gres_kinds()[pool.kind].type).value_or(0) * pool.units;
    }
  }
  return capacity;
}

std::unordered_map<std::uint32_t, std::uint32_t> allocation_shares(
    const accounts::AccountBook& book, const Capacity& capacity,
    const std::function<bool(std::uint32_t association)>& is_active) {
  std::unordered_map<std::uint32_t, std::uint32_t> shares;
  for (const auto& [id, record] : book.associations()) shares[id] = record.shares();
  for (const auto& [parent, above] : book.associations()) {
    struct Pool {
      double allocated = 0;
      std::vector<std::uint32_t> others;
    };
    std::array<Pool, kKinds> pools;
    bool any = false;
    for (const std::uint32_t child : book.children(parent)) {
      const model::AssociationRecord& record = *book.association(child);
      if (!record.user().empty() || record.shares() == accounts::kSharesAsParent) continue;
      const Kind kind = kind_of(record.account());
      const double years = years_of(kind, record.core_years(), record.rgu_years());
      if (years > 0) {
        shares[child] = shares_of(years);
        pools[kind].allocated += years;
        any = true;
      } else {
        pools[kind].others.push_back(child);
      }
    }
    if (!any) continue;
    for (const Kind kind : {kCpu, kGpu, kBoth}) {
      Pool& pool = pools[kind];
      const double own = years_of(kind, above.core_years(), above.rgu_years());
      const double whole = own > 0 ? own : years_of(kind, capacity.cores, capacity.rgu);
      const auto active = std::count_if(pool.others.begin(), pool.others.end(), is_active);
      const double each =
          active == 0 ? 0 : std::max(0.0, whole - pool.allocated) / static_cast<double>(active);
      for (const std::uint32_t child : pool.others) shares[child] = is_active(child) ? shares_of(each) : 1;
    }
  }
  return shares;
}

}  // namespace minke::sched
