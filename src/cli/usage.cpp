#include "cli/usage.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <set>

#include "api/accounting.pb.h"
#include "api/accounts.pb.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/accounts.pb.h"
#include "text/timestamp.h"
#include "view/output.h"
#include "view/text.h"
#include "view/usage_report.h"

namespace minke::cli {
namespace {

int complain(const std::string& message) {
  std::fprintf(stderr, "minke: error: %s\n", message.c_str());
  return 1;
}

// Allocations of Canada's research computing begin on that day.
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

int usage(const UsageOptions& options) {
  const int64_t now = std::time(nullptr);
  int64_t begin = last_first_of_april(now);
  if (!options.since.empty()) {
    const auto given = text::parse_time(options.since, now, true);
    if (!given) return complain(given.error().message);
    begin = *given;
  }
  if (begin >= now) return complain("the year has not begun yet");
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error().message);
  view::UsageReport report(begin, now);
  if (!options.gpu.empty()) {
    if (const Status known = report.set_equivalent(options.gpu); !known)
      return complain(known.error().message);
  }
  api::QueryAccountingRequest query;
  query.mutable_filter()->set_all_states(true);
  for (const std::string& account : options.accounts) query.mutable_filter()->add_accounts(account);
  query.set_from(begin);
  query.set_until(std::min(now, report.end()));
  query.set_duplicates(true);
  const auto taken = engine::for_each_accounted(**cluster, query,
                                                [&](const api::AccountedJob& job) { report.add(job.job()); });
  if (!taken) return complain(taken.error().message);
  if (const auto added = add_allocations(**cluster, options.accounts, report); !added)
    return complain(added.error().message);
  view::write_out(options.json ? report.json() : report.text());
  return 0;
}

}  // namespace minke::cli
