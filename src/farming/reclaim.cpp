#include "farming/reclaim.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

#include "farming/worker_files.h"
#include "os/files.h"
#include "text/number.h"

namespace minke::farming {
namespace {

// What a worker had taken, and which of it has ended.
class Holdings {
 public:
  explicit Holdings(std::vector<farm::Range> taken) : taken_(std::move(taken)) {
    std::sort(taken_.begin(), taken_.end(), [](const farm::Range& a, const farm::Range& b) {
      return std::pair(a.attempt, a.first) < std::pair(b.attempt, b.first);
    });
    for (const farm::Range& range : taken_) ended_.emplace_back(range.count, false);
  }

  void end(uint64_t number, uint32_t attempt) {
    if (const auto i = place(number, attempt)) ended_[*i][number - taken_[*i].first] = true;
  }
  bool has(uint64_t number, uint32_t attempt) const {
    const auto i = place(number, attempt);
    return i && !ended_[*i][number - taken_[*i].first];
  }
  // What has not ended, in pieces that follow each other.
  std::vector<farm::Range> left() const {
    std::vector<farm::Range> left;
    for (size_t i = 0; i < taken_.size(); ++i) {
      for (uint64_t k = 0; k < taken_[i].count; ++k) {
        if (ended_[i][k]) continue;
        const uint64_t number = taken_[i].first + k;
        if (!left.empty() && left.back().first + left.back().count == number &&
            left.back().attempt == taken_[i].attempt) {
          ++left.back().count;
        } else {
          left.push_back({number, 1, taken_[i].attempt});
        }
      }
    }
    return left;
  }

 private:
  // The range with the case: those of one attempt do not overlap.
  std::optional<size_t> place(uint64_t number, uint32_t attempt) const {
    const auto after = std::upper_bound(taken_.begin(), taken_.end(), std::pair(attempt, number),
                                        [](const auto& value, const farm::Range& range) {
                                          return value < std::pair(range.attempt, range.first);
                                        });
    if (after == taken_.begin()) return std::nullopt;
    const farm::Range& range = *std::prev(after);
    if (range.attempt != attempt || number - range.first >= range.count) return std::nullopt;
    return static_cast<size_t>(after - taken_.begin()) - 1;
  }

  std::vector<farm::Range> taken_;
  std::vector<std::vector<bool>> ended_;
};

class Accounting {
 public:
  Accounting(uint32_t worker, const farm::Member& member, const farm::RetryRule& rule, const Death& death)
      : worker_(worker), member_(member), rule_(rule), death_(death), holdings_(member.taken) {}

  Status read(const std::string& directory) {
    const Status read = for_each_outcome(directory, worker_, 0, [&](const farm::Outcome& outcome) {
      holdings_.end(outcome.number, outcome.attempt);
      if (outcome.again) again_.push_back(outcome);
    });
    if (!read) return read;
    for (const farm::Running& one : running_of(directory, worker_)) running_.push_back(one);
    return {};
  }

  std::vector<farm::Entry> entries() {
    // It recorded these ends, and died before it put the cases back.
    for (size_t i = std::min<size_t>(member_.retries, again_.size()); i < again_.size(); ++i)
      retry(again_[i]);
    if (death_.files_are_whole) {
      for (const farm::Running& one : running_)
        if (holdings_.has(one.number, one.attempt)) lose(one.number, one.attempt);
      for (const farm::Range& range : holdings_.left()) put_back(range);
    } else {
      for (const farm::Range& range : holdings_.left())
        for (uint64_t k = 0; k < range.count; ++k) lose(range.first + k, range.attempt);
    }
    add(farm::EntryKind::kGone, 0, 0, 0, 0);
    return std::move(entries_);
  }

 private:
  void add(farm::EntryKind kind, uint64_t first, uint64_t count, uint32_t attempt, uint32_t level,
           const std::string& text = "") {
    entries_.push_back({kind, worker_, first, count, attempt, level, std::time(nullptr), text});
  }
  void retry(const farm::Outcome& outcome) {
    const farm::Decision decision = farm::decide(rule_, outcome, member_.level);
    add(farm::EntryKind::kRetry, outcome.number, 1, outcome.attempt + 1, decision.level,
        decision.other_host ? member_.host : "");
  }
  void put_back(const farm::Range& range) {
    add(farm::EntryKind::kReturn, range.first, range.count, range.attempt,
        range.attempt == 0 ? 0 : member_.level);
  }
  void lose(uint64_t number, uint32_t attempt) {
    farm::Outcome outcome;
    outcome.number = number;
    outcome.attempt = attempt;
    outcome.ending = death_.ending;
    holdings_.end(number, attempt);
    const farm::Decision decision = farm::decide(rule_, outcome, member_.level);
    add(farm::EntryKind::kLost, number, decision.again ? 1 : 0, attempt,
        static_cast<uint32_t>(death_.ending));
    if (decision.again) retry(outcome);
  }

  uint32_t worker_;
  const farm::Member member_;
  const farm::RetryRule& rule_;
  Death death_;
  Holdings holdings_;
  std::vector<farm::Outcome> again_;
  std::vector<farm::Running> running_;
  std::vector<farm::Entry> entries_;
};

}  // namespace

std::string boot_id() {
  const auto id = os::read_file("/proc/sys/kernel/random/boot_id", 256);
  return id ? std::string(text::trim(*id)) : std::string();
}

Status account_for(Journal& journal, uint32_t worker, const farm::RetryRule& rule, const Death& death) {
  const auto member = journal.ledger().members().find(worker);
  if (member == journal.ledger().members().end() || member->second.gone) return {};
  Accounting accounting(worker, member->second, rule, death);
  if (const Status read = accounting.read(journal.directory()); !read) return read;
  return journal.add(accounting.entries());
}

Result<uint32_t> account_for_the_dead(Journal& journal, const farm::RetryRule& rule, uint32_t self) {
  std::vector<uint32_t> present;
  for (const auto& [number, member] : journal.ledger().members())
    if (!member.gone && number != self) present.push_back(number);
  const std::string boot = boot_id();
  uint32_t dead = 0;
  for (const uint32_t number : present) {
    const auto alive = journal.is_alive(number);
    if (!alive) return failure(alive.error());
    if (*alive) continue;
    const farm::Member& member = journal.ledger().members().at(number);
    Death death;
    death.files_are_whole = !boot.empty() && member.boot == boot;
    death.ending = death.files_are_whole ? farm::Ending::kLost : farm::Ending::kNodeFail;
    if (const Status done = account_for(journal, number, rule, death); !done) return failure(done.error());
    ++dead;
  }
  return dead;
}

}  // namespace minke::farming
