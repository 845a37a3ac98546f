#include "farm/sizing.h"

#include <algorithm>

#include "base/result.h"
#include "text/duration.h"

namespace minke::farm {
namespace {

constexpr uint64_t kSecond = 1'000'000;
constexpr uint64_t kLeastWork = 60 * kSecond;  // of a job: less is not worth its start
constexpr uint64_t kHour = 3600 * kSecond;
constexpr uint64_t kLongest = 3 * 24 * 60;  // minutes: META-Farm's advice
constexpr uint64_t kShortest = 10;          // minutes
constexpr uint64_t kQuarter = 15;           // minutes

std::string time_text(uint64_t us) {
  if (us < kSecond) return std::to_string(us / 1000) + " ms";
  if (us < 120 * kSecond) return std::to_string(us / kSecond) + " s";
  return text::format_seconds(static_cast<int64_t>(us / kSecond));
}

uint64_t rounded_up(uint64_t value, uint64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

Size size_farm(const Needs& needs, const Means& means) {
  MINKE_CHECK(needs.mean_us > 0 && needs.cases > 0);
  Size size;
  const uint64_t at_once = std::max(1u, needs.at_once);
  // The longest count, so that the last jobs end with the others.
  const uint64_t work = (needs.mean_us * needs.cases / at_once) / 5 * 6 + needs.longest_us;
  size.reasons.push_back("a case takes " + time_text(needs.mean_us) + ", so " + std::to_string(needs.cases) +
                         " cases are " + time_text(work) + " of work for one job, with a fifth to spare");
  const uint64_t worth = std::max<uint64_t>(1, work / std::max(kLeastWork, needs.mean_us));
  size.jobs = worth;
  const auto at_most = [&](uint64_t bound, const std::string& reason) {
    if (bound == 0 || size.jobs <= bound) return;
    size.jobs = bound;
    size.reasons.push_back(reason);
  };
  at_most((needs.cases + at_once - 1) / at_once, "more jobs would have no cases");
  at_most(means.most_jobs, "no more than " + std::to_string(means.most_jobs) + " jobs may be submitted");
  for (const Bound& bound : means.bounds) at_most(bound.jobs, bound.why);
  at_most(means.all_jobs, std::to_string(means.all_jobs) + " jobs fit on the cluster at once");
  // Work that those which start now do before others could start is not worth a wait; nor is an hour's.
  if (means.free_jobs > 0 && work / means.free_jobs <= std::max(means.wait_us, kHour)) {
    at_most(means.free_jobs, std::to_string(means.free_jobs) + " jobs can start now" +
                                 (means.wait_us > 0 ? ", and more in " + time_text(means.wait_us) : ""));
  } else if (means.wait_us > 0 && size.jobs > means.free_jobs) {
    size.reasons.push_back("those that cannot start now start in about " + time_text(means.wait_us));
  }
  if (size.jobs == worth) size.reasons.push_back("each job gets a minute of work at least");
  const uint64_t minutes = work / size.jobs / (60 * kSecond) + needs.longest_us / (60 * kSecond) + 1;
  size.minutes = std::clamp(rounded_up(minutes + minutes / 4, kQuarter), kShortest, kLongest);
  if (means.most_minutes > 0 && size.minutes > means.most_minutes) {
    size.minutes = means.most_minutes;
    size.reasons.push_back(
        (means.time_by.empty() ? "a job may run for " : means.time_by + " lets a job run for ") +
        text::format_seconds(static_cast<int64_t>(size.minutes) * 60) + "; others follow for what is left");
  }
  const uint64_t each = (needs.cases + size.jobs - 1) / size.jobs;
  size.reasons.push_back(std::to_string(size.jobs) + (size.jobs == 1 ? " job" : " jobs") + " of " +
                         text::format_seconds(static_cast<int64_t>(size.minutes) * 60) + ", about " +
                         std::to_string(each) + (each == 1 ? " case each" : " cases each"));
  return size;
}

}  // namespace minke::farm
