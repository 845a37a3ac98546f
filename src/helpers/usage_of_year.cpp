#include "helpers/usage_of_year.h"

#include <algorithm>
#include <ctime>
#include <set>

#include "api/accounting.pb.h"
#include "api/accounts.pb.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "model/accounts.pb.h"

namespace minke::helpers {
namespace {

// Adds the accounts asked for, or all. Parents come before their children.
Status add_allocations(engine::Engine& cluster, const std::vector<std::string>& wanted,
                       view::UsageReport& report) {
  const auto reply = cluster.accounts({});
  if (!reply) return failure(reply.error());
  std::vector<const model::AssociationRecord*> accounts;
  for (const auto& one : reply->associations()) {
    if (one.user().empty()) accounts.push_back(&one);
  }
  for (const auto* one : accounts) {
    if (one->core_years() <= 0 && one->rgu_years() <= 0) continue;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), one->account()) == wanted.end()) continue;
    std::set<std::string> below{one->account()};
    for (const auto* other : accounts) {
      if (below.contains(other->parent_account())) below.insert(other->account());
    }
    report.allocation(one->account(), one->core_years(), one->rgu_years(), {below.begin(), below.end()});
  }
  return {};
}

}  // namespace

int64_t last_first_of_april(int64_t now) {
  const auto wall = static_cast<time_t>(now);
  std::tm day{};
  localtime_r(&wall, &day);
  if (day.tm_mon < 3) --day.tm_year;
  day.tm_mon = 3;
  day.tm_mday = 1;
  day.tm_hour = day.tm_min = day.tm_sec = 0;
  day.tm_isdst = -1;
  return std::mktime(&day);
}

Result<view::UsageReport> usage_of_year(engine::Engine& cluster, const UsageWanted& wanted) {
  view::UsageReport report(wanted.begin, wanted.now);
  if (!wanted.equivalent.empty())
    if (const Status known = report.set_equivalent(wanted.equivalent); !known) return failure(known.error());
  api::QueryAccountingRequest query;
  query.mutable_filter()->set_all_states(true);
  for (const std::string& account : wanted.accounts) query.mutable_filter()->add_accounts(account);
  query.set_from(wanted.begin);
  query.set_until(std::min(wanted.now, report.end()));
  query.set_duplicates(true);
  query.set_brief(true);
  const auto taken = engine::for_each_accounted(cluster, query,
                                                [&](const api::AccountedJob& job) { report.add(job.job()); });
  if (!taken) return failure(taken.error());
  // A cluster that lacks them (a real Slurm, so far) has use all the same.
  if (const Status added = add_allocations(cluster, wanted.accounts, report);
      !added && added.error().code != 0)
    return failure(added.error());
  return report;
}

}  // namespace minke::helpers
