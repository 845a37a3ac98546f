#include "accounts/usage_book.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "accounts/fair_tree.h"

namespace minke::accounts {

Usage UsageBook::decayed(const Item& item, std::int64_t now) const {
  Usage usage = item.usage;
  if (now > item.time)
    usage.scale(decayed_usage(1, static_cast<double>(now - item.time), static_cast<double>(half_life_)));
  return usage;
}

Usage UsageBook::use_of(const Run& run, std::int64_t now) const {
  const auto length = static_cast<double>(std::max<std::int64_t>(0, run.end - run.start));
  double seconds = length;
  if (half_life_ > 0) {
    const double rate = std::numbers::ln2 / static_cast<double>(half_life_);
    const auto age = static_cast<double>(std::max<std::int64_t>(0, now - run.end));
    seconds = -std::expm1(-rate * length) / rate * std::exp(-rate * age);
  }
  seconds *= run.factor;
  Usage usage;
  usage.raw = run.billing * seconds;
  usage.wall_seconds = seconds;
  for (const auto& [name, count] : run.tres) usage.tres[name] = static_cast<double>(count) * seconds;
  return usage;
}

void UsageBook::add_to(Item& item, const Run& run) const {
  const std::int64_t time = std::max(item.time, run.end);
  item.usage = decayed(item, time);
  item.usage.add(use_of(run, time));
  item.time = time;
}

void UsageBook::add(const Run& run) {
  if (run.association != 0) add_to(associations_[run.association], run);
  if (run.qos != 0) add_to(qos_[run.qos], run);
  if (run.partition_qos != 0 && run.partition_qos != run.qos) add_to(qos_[run.partition_qos], run);
}

void UsageBook::clear_all() {
  associations_.clear();
  qos_.clear();
}

void UsageBook::merge(std::uint32_t from, std::uint32_t into) {
  const auto gone = associations_.extract(from);
  if (gone.empty()) return;
  Item& item = associations_[into];
  const std::int64_t time = std::max(item.time, gone.mapped().time);
  item.usage = decayed(item, time);
  item.usage.add(decayed(gone.mapped(), time));
  item.time = time;
}

UsageBook::Totals UsageBook::totals(const AccountBook& book, const std::vector<Run>& running,
                                    std::int64_t now) const {
  Totals totals;
  for (const auto& [id, item] : associations_) totals[id].add(decayed(item, now));
  for (const Run& run : running) {
    if (run.association != 0) totals[run.association].add(use_of(run, now));
  }
  const auto order = book.in_tree_order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const auto own = totals.find(*id);
    const std::uint32_t parent = book.parent(*id);
    if (own == totals.end() || parent == 0) continue;
    const Usage usage = own->second;
    totals[parent].add(usage);
  }
  return totals;
}

UsageBook::Totals UsageBook::qos_totals(const std::vector<Run>& running, std::int64_t now) const {
  Totals totals;
  for (const auto& [id, item] : qos_) totals[id].add(decayed(item, now));
  for (const Run& run : running) {
    if (run.qos != 0) totals[run.qos].add(use_of(run, now));
    if (run.partition_qos != 0 && run.partition_qos != run.qos)
      totals[run.partition_qos].add(use_of(run, now));
  }
  return totals;
}

}  // namespace minke::accounts
