#include "sched/run_times.h"

#include <algorithm>
#include <utility>

#include "sched/ids.h"

namespace minke::sched {
namespace {

constexpr double kFade = 0.95;    // from one job of the user's to the one before
constexpr double kSameLimit = 4;  // these multiply a job's weight
constexpr double kSameWidth = 2;
constexpr double kOtherWidth = 0.5;  // less than half or more than twice as wide
constexpr double kEverybody = 1;     // weight of all others together

// As long a part of its limit as that run took of its own. A job without a limit has no such part: it is
// believed to take as long as that run, and a run without a limit tells of seconds alone.
double scaled(const RunTimes::Run& run, std::int64_t limit) {
  if (limit >= kUnlimitedSeconds || run.limit >= kUnlimitedSeconds)
    return static_cast<double>(std::min(run.seconds, limit));
  return static_cast<double>(run.seconds) / static_cast<double>(run.limit) * static_cast<double>(limit);
}

}  // namespace

void RunTimes::ended(std::uint64_t user, const Run& run) {
  std::deque<Run>& own = by_user_[user];
  own.push_back(run);
  if (own.size() > kOfUser) own.pop_front();
  all_.push_back(run);
  if (all_.size() > kOfAll) all_.pop_front();
}

std::int64_t RunTimes::expected(std::uint64_t user, std::int64_t limit, std::uint32_t processors,
                                std::int64_t elapsed) const {
  const auto after = static_cast<double>(elapsed);
  std::vector<std::pair<double, double>> votes;  // seconds, weight
  votes.reserve(kOfUser + kOfAll);
  if (const auto own = by_user_.find(user); own != by_user_.end()) {
    double fade = 1;
    for (auto run = own->second.rbegin(); run != own->second.rend(); ++run, fade *= kFade) {
      const double seconds = scaled(*run, limit);
      if (seconds <= after) continue;
      double weight = fade;
      if (run->limit == limit) weight *= kSameLimit;
      if (run->processors == processors) {
        weight *= kSameWidth;
      } else if (std::uint64_t{run->processors} * 2 < processors ||
                 std::uint64_t{processors} * 2 < run->processors) {
        weight *= kOtherWidth;
      }
      votes.emplace_back(seconds, weight);
    }
  }
  const std::size_t of_user = votes.size();
  for (const Run& run : all_) {
    if (const double seconds = scaled(run, limit); seconds > after) votes.emplace_back(seconds, 0);
  }
  for (std::size_t i = of_user; i < votes.size(); ++i)
    votes[i].second = kEverybody / static_cast<double>(votes.size() - of_user);
  if (votes.empty()) return std::max(limit, elapsed + 1);
  std::sort(votes.begin(), votes.end());
  double half = 0;
  for (const auto& vote : votes) half += vote.second / 2;
  double reached = 0;
  for (const auto& [seconds, weight] : votes) {
    reached += weight;
    if (reached >= half)
      return std::clamp(static_cast<std::int64_t>(seconds), elapsed + 1, std::max(limit, elapsed + 1));
  }
  return limit;
}

}  // namespace minke::sched
