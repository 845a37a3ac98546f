#include "farming/put_again.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "farm/retry_rule.h"
#include "farming/farm_directory.h"
#include "text/number.h"

namespace minke::farming {
namespace {

bool has_failed(const CaseState& state) {
  return state.ended && !state.waits && !state.outcome.ok() && !state.outcome.again;
}

std::string why_not(uint64_t number, const CaseState& state) {
  const std::string name = "case " + std::to_string(number);
  if (state.waits) return name + " waits to run already";
  if (!state.ended || state.outcome.again) return name + " runs";
  return name + " has ended well: only cases that failed run again";
}

// That of the worker that it ended in.
uint32_t level_of(const farm::Ledger& ledger, const CaseState& state) {
  const auto member = ledger.members().find(state.worker);
  return member == ledger.members().end() ? 0 : std::min(member->second.level, farm::kHighestLevel);
}

}  // namespace

Result<farm::Range> parse_cases(std::string_view text) {
  const size_t dash = text.find('-');
  const auto first = text::parse_unsigned(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : text::parse_unsigned(text.substr(dash + 1));
  if (!first || !last || *first == 0 || *last < *first)
    return failure("a case is a number from 1, or several as in 7-9; this is none: " + std::string(text));
  return farm::Range{*first, *last - *first + 1, 0};
}

Result<uint64_t> put_again(Journal& journal, const std::vector<farm::Range>& cases) {
  const auto states = case_states(journal);
  if (!states) return failure(states.error());
  std::vector<bool> chosen(states->size(), cases.empty());
  for (const farm::Range& range : cases) {
    if (range.first > states->size() || range.count > states->size() - range.first + 1)
      return failure("the farm has " + std::to_string(states->size()) + " cases, and no case " +
                     std::to_string(std::max<uint64_t>(range.first, states->size() + 1)));
    for (uint64_t number = range.first; number < range.first + range.count; ++number) {
      const CaseState& state = (*states)[number - 1];
      if (!has_failed(state)) return failure(why_not(number, state));
      chosen[number - 1] = true;
    }
  }
  std::vector<farm::Entry> entries;
  const int64_t now = std::time(nullptr);
  if (journal.ledger().stopped()) entries.push_back({farm::EntryKind::kGoOn, 0, 0, 0, 0, 0, now, ""});
  const size_t before = entries.size();
  for (uint64_t number = 1; number <= states->size(); ++number) {
    const CaseState& state = (*states)[number - 1];
    if (!chosen[number - 1] || !has_failed(state)) continue;
    entries.push_back({farm::EntryKind::kRetry, 0, number, 1, state.outcome.attempt + 1,
                       level_of(journal.ledger(), state), now, ""});
  }
  const uint64_t again = entries.size() - before;
  if (const Status told = journal.add(entries); !told) return failure(told.error());
  return again;
}

}  // namespace minke::farming
