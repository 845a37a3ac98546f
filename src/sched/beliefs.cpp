#include "sched/beliefs.h"

#include <algorithm>

namespace minke::sched {
namespace {

std::int64_t elapsed_of(const Run& run, std::int64_t now) {
  return std::max<std::int64_t>(0, now - run.start - run.suspended);
}

}  // namespace

void Beliefs::ended(std::uint32_t uid, std::int64_t limit, std::int64_t seconds, std::uint32_t cpus) {
  limit = std::max<std::int64_t>(1, limit);
  run_times_.ended(uid, {.limit = limit,
                         .seconds = std::clamp<std::int64_t>(seconds, 1, limit),
                         .processors = std::max(1u, cpus)});
  ++runs_of_user_[uid];
  ++runs_;
}

std::uint32_t Beliefs::runs_of(std::uint32_t uid) const {
  const auto found = runs_of_user_.find(uid);
  return found == runs_of_user_.end() ? 0 : found->second;
}

std::int64_t Beliefs::rounded(std::int64_t elapsed) {
  return elapsed - elapsed % std::max<std::int64_t>(1, elapsed / 16);
}

std::int64_t Beliefs::seconds(std::uint32_t uid, std::int64_t limit, std::uint32_t cpus,
                              std::int64_t elapsed) const {
  return std::max(run_times_.expected(uid, limit, cpus, rounded(elapsed)), elapsed + 1);
}

std::int64_t Beliefs::end_of(const Run& run, std::int64_t now) const {
  return run.start + run.suspended + seconds(run.uid, run.limit, run.cpus, elapsed_of(run, now));
}

bool Beliefs::knows_end(const Run& run, std::int64_t now) const {
  if (run.limit < kUnlimitedSeconds) return true;
  return end_of(run, now) - run.start - run.suspended < kUnlimitedSeconds;
}

std::int64_t Beliefs::Asked::seconds(std::uint32_t uid, std::int64_t limit, std::uint32_t cpus,
                                     std::int64_t elapsed) {
  const std::int64_t since = rounded(elapsed);
  const auto [entry, is_new] = known_.try_emplace({uid, limit, cpus, since}, 0);
  if (is_new) entry->second = beliefs_.seconds(uid, limit, cpus, since);
  return std::max(entry->second, elapsed + 1);
}

std::int64_t Beliefs::Asked::end_of(const Run& run, std::int64_t now) {
  return run.start + run.suspended + seconds(run.uid, run.limit, run.cpus, elapsed_of(run, now));
}

std::uint32_t cpus_of(const Request& request) {
  const std::uint32_t tasks =
      request.tasks != 0 ? request.tasks : request.min_nodes * std::max(1u, request.tasks_per_node);
  return std::max({1u, tasks * request.cpus_per_task, request.min_nodes * request.min_cpus_per_node});
}

}  // namespace minke::sched
