#include "sched/running_set.h"

namespace minke::sched {

void RunningSet::add(RunKey key, std::int64_t expected_end, Placement placement) {
  ++version_;
  MINKE_CHECK(ends_.emplace(key, expected_end).second);
  by_end_.emplace(End{expected_end, key}, std::move(placement));
}

std::optional<Placement> RunningSet::remove(RunKey key) {
  const auto end = ends_.find(key);
  if (end == ends_.end()) return std::nullopt;
  auto node = by_end_.extract(End{end->second, key});
  ends_.erase(end);
  return std::move(node.mapped());
}

bool RunningSet::set_expected_end(RunKey key, std::int64_t expected_end) {
  const auto end = ends_.find(key);
  if (end == ends_.end()) return false;
  ++version_;
  auto node = by_end_.extract(End{end->second, key});
  node.key().time = expected_end;
  by_end_.insert(std::move(node));
  end->second = expected_end;
  return true;
}

const Placement* RunningSet::find(RunKey key) const {
  const auto end = ends_.find(key);
  return end == ends_.end() ? nullptr : &by_end_.at(End{end->second, key});
}

}  // namespace minke::sched
