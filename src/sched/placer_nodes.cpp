// The part of the Placer that chooses among several nodes.
#include <algorithm>
#include <bit>

#include "sched/placer.h"

namespace minke::sched {
namespace {

// Values in descending order, some of them struck out: the sum of the largest m that are left, in O(log n).
class TopSums {
 public:
  explicit TopSums(const std::vector<std::uint32_t>& descending)
      : values_(descending), counts_(descending.size() + 1), sums_(descending.size() + 1) {
    for (std::size_t i = 0; i < values_.size(); ++i) change(i, 1);
  }
  void strike_out(std::size_t index) { change(index, -1); }
  std::uint64_t top(std::uint32_t m) const {
    std::size_t position = 0;
    std::uint64_t sum = 0;
    for (std::size_t step = std::bit_floor(counts_.size()); step > 0; step /= 2) {
      const std::size_t next = position + step;
      if (next >= counts_.size() || static_cast<std::uint64_t>(counts_[next]) > m) continue;
      position = next;
      m -= static_cast<std::uint32_t>(counts_[next]);
      sum += static_cast<std::uint64_t>(sums_[next]);
    }
    return sum;
  }

 private:
  void change(std::size_t index, std::int64_t sign) {
    for (std::size_t i = index + 1; i < counts_.size(); i += i & -i) {
      counts_[i] += sign;
      sums_[i] += sign * values_[index];
    }
  }
  const std::vector<std::uint32_t>& values_;
  std::vector<std::int64_t> counts_;  // Fenwick trees
  std::vector<std::int64_t> sums_;
};

}  // namespace

bool Placer::gather_candidates() {
  const Request& request = *request_;
  required_.clear();
  candidates_.clear();
  const std::uint64_t cpus = least_cpus_on_a_node(request);
  const std::uint64_t devices = least_gres_on_a_node(request);
  std::uint32_t suitable = 0;
  for (std::size_t word = 0; word < machine_.words(); ++word) {
    suitable += static_cast<std::uint32_t>(std::popcount(suitable_word(request, word, cpus, devices)));
  }
  if (suitable < request.min_nodes) return false;
  // Where any node will do, no more are looked for than it takes.
  const bool any_will_do = request.tasks == 0 && job_gres_ == 0 && !request.as_many_nodes &&
                           request.required.empty() && !request.least_loaded;
  const std::size_t enough = any_will_do ? std::max(1u, request.min_nodes) : suitable;
  candidates_.reserve(enough);
  for (std::size_t word = 0; word < machine_.words() && candidates_.size() < enough; ++word) {
    for (std::uint64_t set = suitable_word(request, word, cpus, devices); set != 0; set &= set - 1) {
      const NodeId node = layout_.node_at_rank(word * 64 + static_cast<std::size_t>(std::countr_zero(set)));
      if (std::binary_search(request.excluded.begin(), request.excluded.end(), node)) continue;
      Capacity found;
      if (!capacity(node, request, found)) continue;
      const bool required = std::binary_search(request.required.begin(), request.required.end(), node);
      (required ? required_ : candidates_).push_back(found);
      if (candidates_.size() == enough) break;
    }
  }
  if (request.least_loaded && view_ == View::kFree) {
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [this](const Capacity& a, const Capacity& b) { return less_loaded(a.rank, b.rank); });
  }
  return required_.size() == request.required.size();
}

bool Placer::select_several() {
  const Request& request = *request_;
  if (!gather_candidates()) return false;
  const auto least =
      std::max({std::uint32_t{1}, request.min_nodes, static_cast<std::uint32_t>(required_.size())});
  auto most = std::min(request.max_nodes, static_cast<std::uint32_t>(required_.size() + candidates_.size()));
  if (request.tasks > 0) most = std::min(most, request.tasks);  // each node gets at least one of both
  if (job_gres_ > 0) most = std::min(most, job_gres_);
  if (least > most || !choose(least, most)) return false;
  std::sort(chosen_.begin(), chosen_.end(),
            [](const Capacity& a, const Capacity& b) { return a.rank < b.rank; });
  return true;
}

bool Placer::choose(std::uint32_t least, std::uint32_t most) {
  if (request_->tasks > 0 && job_gres_ > 0) return choose_by_two_sums(least, most);
  if (request_->tasks > 0) return choose_by_one_sum(least, most, &Capacity::tasks, request_->tasks);
  if (job_gres_ == 0) {  // any will do
    const std::size_t others = (request_->as_many_nodes ? most : least) - required_.size();
    chosen_ = required_;
    chosen_.insert(chosen_.end(), candidates_.begin(),
                   candidates_.begin() + static_cast<std::ptrdiff_t>(others));
    return true;
  }
  return choose_by_one_sum(least, most, &Capacity::job_gres, job_gres_);
}

bool Placer::choose_by_one_sum(std::uint32_t least, std::uint32_t most, std::uint32_t Capacity::*value,
                               std::uint64_t needed) {
  std::uint64_t sum = 0;
  for (const Capacity& node : required_) sum += node.*value;
  std::uint64_t in_all = sum;
  for (const Capacity& node : candidates_) in_all += node.*value;
  if (in_all < needed) return false;                     // mostly, and before the sorting
  std::vector<std::uint32_t> order(candidates_.size());  // largest first, then by rank
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return candidates_[a].*value > candidates_[b].*value;
  });
  std::vector<std::uint32_t> values(order.size());
  std::vector<std::uint32_t> position(order.size());  // of a candidate in `order`
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    values[i] = candidates_[order[i]].*value;
    position[order[i]] = i;
  }
  const auto taken = static_cast<std::uint32_t>(required_.size());
  std::uint32_t count = taken;
  std::uint64_t reached = sum;
  while (count < most && (count < least || reached < needed || request_->as_many_nodes)) {
    reached += values[count - taken];
    ++count;
  }
  if (count < least || reached < needed) return false;

  // First by rank: take a node whenever the best of those behind it can make up the rest.
  chosen_ = required_;
  TopSums behind(values);
  for (std::uint32_t i = 0; i < candidates_.size() && chosen_.size() < count; ++i) {
    behind.strike_out(position[i]);
    const auto still = static_cast<std::uint32_t>(count - chosen_.size() - 1);
    const std::uint64_t with = sum + candidates_[i].*value;
    if (candidates_.size() - i - 1 < still || with + behind.top(still) < needed) continue;
    sum = with;
    chosen_.push_back(candidates_[i]);
  }
  MINKE_CHECK(chosen_.size() == count && sum >= needed);
  return true;
}

bool Placer::choose_by_two_sums(std::uint32_t least, std::uint32_t most) {
  const std::uint64_t tasks_needed = request_->tasks;
  const std::uint64_t gres_needed = job_gres_;
  const auto more_tasks = [](const Capacity& a, const Capacity& b) { return a.tasks > b.tasks; };
  const auto more_gres = [](const Capacity& a, const Capacity& b) { return a.job_gres > b.job_gres; };
  const auto more_of_both = [&](const Capacity& a, const Capacity& b) {
    return a.tasks * gres_needed + a.job_gres * tasks_needed >
           b.tasks * gres_needed + b.job_gres * tasks_needed;
  };
  std::uint32_t best = kNoLimit;
  const auto attempt = [&](auto better) {
    std::vector<Capacity> order = candidates_;
    std::stable_sort(order.begin(), order.end(), better);
    std::vector<Capacity> set = required_;
    std::uint64_t tasks = 0;
    std::uint64_t gres = 0;
    for (const Capacity& node : set) tasks += node.tasks, gres += node.job_gres;
    const auto enough = [&] { return set.size() >= least && tasks >= tasks_needed && gres >= gres_needed; };
    for (const Capacity& node : order) {
      if (set.size() >= most || (enough() && !request_->as_many_nodes)) break;
      set.push_back(node);
      tasks += node.tasks;
      gres += node.job_gres;
    }
    if (!enough() || set.size() >= best) return;
    best = static_cast<std::uint32_t>(set.size());
    chosen_ = std::move(set);
  };
  attempt(more_of_both);
  attempt(more_tasks);
  attempt(more_gres);
  return best != kNoLimit;
}

}  // namespace minke::sched
