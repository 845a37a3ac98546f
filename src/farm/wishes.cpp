#include "farm/wishes.h"

#include <algorithm>

#include "text/number.h"

namespace minke::farm {
namespace {

bool is_served(const Wish& wish, const std::vector<Present>& present) {
  return std::any_of(present.begin(), present.end(), [&](const Present& one) {
    return one.jobs > 0 && one.level >= wish.level &&
           (wish.other_than.empty() || one.host.empty() || one.host != wish.other_than);
  });
}

void add(std::vector<Wish>& wishes, const Wish& wish) {
  for (Wish& one : wishes) {
    if (one.level != wish.level || one.other_than != wish.other_than) continue;
    one.cases += wish.cases;
    return;
  }
  wishes.push_back(wish);
}

// "12" of "12_3".
std::string_view array_of(std::string_view job) {
  return job.substr(0, job.find('_'));
}

}  // namespace

std::vector<Wish> wishes(const Ledger& ledger, const std::vector<Present>& present, uint64_t target) {
  std::vector<Wish> all;
  if (ledger.stopped()) return all;
  if (ledger.fresh() > 0) add(all, {0, "", ledger.fresh()});
  for (const auto& [first, waiting] : ledger.waiting())
    add(all, {waiting.level, waiting.other_than, waiting.count});
  uint64_t there = 0;
  for (const Present& one : present) there += one.jobs;
  for (Wish& wish : all) {
    const uint64_t wanted = std::min(target, wish.cases);
    if (wish.level == 0 && wish.other_than.empty()) wish.jobs = wanted - std::min(wanted, there);
  }
  std::erase_if(all, [&](const Wish& wish) { return wish.jobs == 0 && is_served(wish, present); });
  std::stable_sort(all.begin(), all.end(), [](const Wish& a, const Wish& b) { return a.level < b.level; });
  return all;
}

std::vector<Present> present_by_ledger(const Ledger& ledger, const std::vector<uint32_t>& alive) {
  std::vector<Present> present;
  for (const uint32_t number : alive) {
    const auto member = ledger.members().find(number);
    if (member == ledger.members().end() || member->second.gone) continue;
    present.push_back({1, member->second.level, member->second.host});
  }
  for (const Submission& one : ledger.submissions()) {
    if (one.job_id && *one.job_id == 0) continue;
    uint64_t came = 0;
    for (const auto& [number, member] : ledger.members())
      if (one.job_id && array_of(member.job) == std::to_string(*one.job_id)) ++came;
    if (came < one.jobs) present.push_back({one.jobs - came, one.level, ""});
  }
  return present;
}

}  // namespace minke::farm
