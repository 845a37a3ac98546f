#include "farm/ledger.h"

#include <algorithm>

#include "text/number.h"

namespace minke::farm {
namespace {

tl::unexpected<Error> contradiction(const Entry& entry, const std::string& what) {
  std::string line = format_entry(entry);
  line.pop_back();
  return failure("the farm's ledger contradicts itself (" + what + "): " + line);
}

bool fits(const Waiting& waiting, const Seeker& who) {
  return waiting.level <= who.level && (waiting.other_than.empty() || waiting.other_than != who.host);
}

}  // namespace

Status Ledger::apply(const Entry& entry) {
  switch (entry.kind) {
    case EntryKind::kCases:
      if (entry.count < cases_) return contradiction(entry, "fewer cases than before");
      cases_ = entry.count;
      return {};
    case EntryKind::kWorker: {
      if (entry.worker != next_worker()) return contradiction(entry, "not the next worker");
      Member& member = members_[entry.worker];
      const auto words = text::split(entry.text, ' ');
      if (words.size() > 0) member.job = words[0] == "-" ? "" : std::string(words[0]);
      if (words.size() > 1) member.host = std::string(words[1]);
      if (words.size() > 2) member.boot = std::string(words[2]);
      member.level = entry.level;
      member.slots = static_cast<uint32_t>(entry.count);
      member.since = entry.time;
      return {};
    }
    case EntryKind::kTake:
      return take(entry);
    case EntryKind::kReturn:
      return put_back(entry, "");
    case EntryKind::kRetry:
      if (const auto by = members_.find(entry.worker); by != members_.end()) ++by->second.retries;
      put_again_ += entry.worker == 0 ? entry.count : 0;
      return put_back(entry, entry.text);
    case EntryKind::kLost:
      return lose(entry);
    case EntryKind::kGone: {
      const auto member = members_.find(entry.worker);
      if (member == members_.end()) return contradiction(entry, "no such worker");
      member->second.gone = true;
      member->second.taken.clear();
      member->second.taken.shrink_to_fit();
      return {};
    }
    case EntryKind::kStop:
    case EntryKind::kGoOn:
      stopped_ = entry.kind == EntryKind::kStop;
      return {};
    case EntryKind::kCutOff:
      cut_off_us_ = entry.first;
      cut_off_from_ = entry.count;
      return {};
    case EntryKind::kSubmit:
      submissions_.push_back(
          {entry.text, static_cast<uint32_t>(entry.first), entry.level, entry.time, std::nullopt});
      return {};
    case EntryKind::kJob:
      for (Submission& one : submissions_)
        if (one.key == entry.text) one.job_id = static_cast<uint32_t>(entry.first);
      return {};
    case EntryKind::kShun:
      shun(entry);
      return {};
  }
  return {};
}

void Ledger::shun(const Entry& entry) {
  const auto place = waiting_.find(entry.first);
  if (place == waiting_.end() || place->second.count != 1 || place->second.attempt != entry.attempt) return;
  if (place->second.other_than.empty()) place->second.other_than = entry.text;
}

Status Ledger::take(const Entry& entry) {
  const auto member = members_.find(entry.worker);
  if (member == members_.end() || member->second.gone) return contradiction(entry, "no such worker");
  if (entry.count == 0) return contradiction(entry, "nothing is taken");
  if (entry.first == taken_ + 1 && entry.attempt == 0) {
    if (entry.count > fresh()) return contradiction(entry, "there are no such cases");
    taken_ += entry.count;
  } else {
    auto place = waiting_.upper_bound(entry.first);
    if (place == waiting_.begin()) return contradiction(entry, "they were taken before");
    --place;
    const uint64_t first = place->first;
    const Waiting waiting = place->second;
    const bool within = entry.first >= first && entry.first + entry.count <= first + waiting.count;
    if (!within || waiting.attempt != entry.attempt) return contradiction(entry, "they were taken before");
    waiting_.erase(place);
    const auto keep = [&](uint64_t from, uint64_t count) {
      if (count == 0) return;
      Waiting rest = waiting;
      rest.count = count;
      waiting_.emplace(from, rest);
    };
    keep(first, entry.first - first);
    keep(entry.first + entry.count, first + waiting.count - entry.first - entry.count);
  }
  auto& taken = member->second.taken;
  if (!taken.empty() && taken.back().attempt == entry.attempt &&
      taken.back().first + taken.back().count == entry.first) {
    taken.back().count += entry.count;
  } else {
    taken.push_back({entry.first, entry.count, entry.attempt});
  }
  return {};
}

bool Ledger::has_waiting(uint64_t first, uint64_t count) const {
  auto after = waiting_.lower_bound(first);
  if (after != waiting_.end() && after->first < first + count) return true;
  if (after == waiting_.begin()) return false;
  --after;
  return after->first + after->second.count > first;
}

Status Ledger::put_back(const Entry& entry, const std::string& other_than) {
  if (entry.count == 0 || entry.first == 0 || entry.first + entry.count - 1 > taken_)
    return contradiction(entry, "nobody has taken them");
  if (has_waiting(entry.first, entry.count)) return contradiction(entry, "they wait already");
  waiting_.emplace(entry.first, Waiting{entry.count, entry.attempt, entry.level, other_than});
  return {};
}

Status Ledger::lose(const Entry& entry) {
  if (entry.first == 0 || entry.first > taken_) return contradiction(entry, "nobody has taken it");
  const bool again = entry.count != 0;
  lost_.push_back({entry.first, entry.attempt, entry.worker, static_cast<uint8_t>(entry.level), again});
  lost_for_good_ += again ? 0 : 1;
  return {};
}

std::optional<Range> Ledger::next(const Seeker& who, uint64_t most) const {
  if (stopped_ || most == 0) return std::nullopt;
  const std::pair<const uint64_t, Waiting>* again = nullptr;
  for (const auto& one : waiting_) {
    if (!fits(one.second, who)) continue;
    if (one.second.attempt == 0) return Range{one.first, std::min(most, one.second.count), 0};
    // Who has more memory is there for those who need it.
    if (again == nullptr || one.second.level > again->second.level) again = &one;
  }
  const bool first_those = again != nullptr && again->second.level > 0 && again->second.level == who.level;
  if (fresh() > 0 && !first_those) return Range{taken_ + 1, std::min(most, fresh()), 0};
  if (again != nullptr)
    return Range{again->first, std::min(most, again->second.count), again->second.attempt};
  return std::nullopt;
}

uint64_t Ledger::left_for(const Seeker& who) const {
  uint64_t cases = fresh();
  for (const auto& [first, waiting] : waiting_)
    if (fits(waiting, who)) cases += waiting.count;
  return cases;
}

uint64_t Ledger::left() const {
  uint64_t cases = fresh();
  for (const auto& [first, waiting] : waiting_) cases += waiting.count;
  return cases;
}

}  // namespace minke::farm
