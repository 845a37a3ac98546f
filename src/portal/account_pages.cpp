// Accounts: what they may use and used, their fair shares, and what was wasted.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <deque>
#include <map>

#include "api/accounting.pb.h"
#include "api/accounts.pb.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "helpers/usage_of_year.h"
#include "model/accounts.pb.h"
#include "portal/desk.h"
#include "portal/ended_jobs.h"
#include "portal/job_json.h"
#include "portal/page_answers.h"
#include "portal/site.h"
#include "text/number.h"
#include "text/printable.h"
#include "view/level_history.h"
#include "view/sshare.h"
#include "view/waste.h"

namespace minke::portal {
namespace {

constexpr int64_t kDay = 86400;
constexpr size_t kMostRows = 2000;

Json waste_json(const view::Waste& waste) {
  return {{"jobs", waste.jobs},
          {"core_hours", waste.cores},
          {"core_hours_used", waste.cores_used},
          {"memory_gib_hours", waste.memory},
          {"memory_gib_hours_used", waste.memory_used},
          {"gpu_hours", waste.gpus},
          {"gpu_hours_measured", waste.gpus_measured},
          {"gpu_hours_used", waste.gpus_used},
          {"cost", waste.cost},
          {"cores_verdict", view::cores_verdict(waste)},
          {"memory_verdict", view::memory_verdict(waste)},
          {"gpus_verdict", view::gpus_verdict(waste)}};
}

Json share_json(const view::ShareLine& line) {
  const size_t depth = line.account.find_first_not_of(' ');
  const bool has_rank = line.rank.has_value();
  return {{"account", std::string(text::trim(line.account))},
          {"user", line.user},
          {"depth", depth == std::string::npos ? 0 : depth},
          {"shares", has_rank ? Json(line.rank->shares) : Json()},
          {"norm_shares", line.norm_shares},
          {"raw_usage", line.usage == nullptr ? 0.0 : std::floor(line.usage->cpu_seconds)},
          {"norm_usage", line.norm_usage},
          {"effective_usage", has_rank ? Json(line.rank->effective_usage) : Json()},
          {"level", has_rank && std::isfinite(line.rank->level) ? Json(line.rank->level) : Json()},
          {"fair_share", has_rank && line.rank->factor ? Json(*line.rank->factor) : Json()}};
}

// The document of minke usage --json.
Result<Reply> usage_page(Call& call) {
  helpers::UsageWanted wanted{.begin = 0, .now = std::time(nullptr), .accounts = {}, .equivalent = {}};
  wanted.begin = call.has("since") ? call.number("since") : helpers::last_first_of_april(wanted.now);
  if (wanted.begin >= wanted.now) return failure("the year has not begun yet", EINVAL);
  if (call.has("account")) wanted.accounts.push_back(call.text("account"));
  const auto report = helpers::usage_of_year(call.cluster, wanted);
  if (!report) return failure(report.error());
  return Reply{.body = report->json()};
}

Result<Reply> waste_page(Call& call) {
  const int64_t asked_at = std::time(nullptr), since = asked_at - call.number("days", 7) * kDay;
  api::QueryAccountingRequest query;
  query.mutable_filter()->set_all_states(true);
  query.set_from(since);
  query.set_with_steps(true);  // seff's memory is that of a step
  query.set_brief(true);
  if (call.has("account")) query.mutable_filter()->add_accounts(call.text("account"));
  if (call.has("user")) ask_for_user(call.text("user") == "me" ? call.desk.user() : call.text("user"), query);
  const config::PortalSettings settings = site_settings();
  view::WasteTally tally(since, asked_at, settings.costs);
  const Status read = for_each_since(call, query, [&](const api::AccountedJob& one) { tally.add(one); });
  if (!read) return failure(read.error());
  Json value = {{"now", asked_at},
                {"since", since},
                {"currency", settings.costs.currency},
                {"all", waste_json(tally.all())},
                {"rows", Json::array()},
                {"worst", Json::array()}};
  for (const view::WasteTally::Row& row : tally.rows()) {
    if (value["rows"].size() == kMostRows) break;
    value["rows"].push_back({{"account", row.account}, {"user", row.user}, {"waste", waste_json(row.waste)}});
  }
  for (const view::WasteTally::WastedJob& one : tally.worst())
    value["worst"].push_back(
        {{"job_id", one.job_id},
         {"id", one.id},
         {"name", text::printable(one.name)},
         {"user", one.user},
         {"cpu_percent", one.efficiency.cpu_percent()},
         {"memory_percent", one.efficiency.memory_percent()},
         {"gpu_percent", one.efficiency.gpus > 0 ? Json(one.efficiency.gpu_percent) : Json()},
         {"waste", waste_json(one.waste)}});
  return json_reply(value);
}

// At most so much of a large tree is worked out for each moment.
Result<Reply> levels_page(Call& call) {
  constexpr size_t kMostCurves = 16, kMostPoints = 61, kMostWork = 200'000;
  api::QueryAccountsRequest asked;
  asked.set_with_usage(true);
  auto tree = call.cluster.accounts(asked);
  if (!tree) return failure(tree.error());
  const int64_t now = tree->now() != 0 ? tree->now() : std::time(nullptr);
  Json value = {{"now", now}, {"time", Json::array()}, {"curves", Json::array()}};
  if (tree->accounts_size() <= 1) return json_reply(value);  // nobody keeps accounts
  tree->set_now(now);
  const size_t points = std::clamp<size_t>(
      kMostWork / static_cast<size_t>(std::max(1, tree->associations_size())), 2, kMostPoints);
  api::QueryAccountingRequest query;
  query.mutable_filter()->set_all_states(true);
  query.set_from(now - call.number("days", 30) * kDay);
  query.set_brief(true);
  view::LevelHistory history(std::move(*tree), query.from(), points);
  const Status read =
      for_each_since(call, query, [&](const api::AccountedJob& one) { history.add(one.job()); });
  if (!read) return failure(read.error());
  for (const int64_t moment : history.moments()) value["time"].push_back(moment);
  for (const view::LevelHistory::Curve& one : history.curves(call.desk.user(), kMostCurves)) {
    Json levels = Json::array();
    for (const auto& level : one.levels) levels.push_back(level ? Json(*level) : Json());
    value["curves"].push_back({{"account", one.account}, {"user", one.user}, {"levels", std::move(levels)}});
  }
  return json_reply(value);
}

}  // namespace

Result<Reply> show_levels(Call& call) {
  return call.desk.remembered().get("levels " + call.text("days"), [&] { return levels_page(call); });
}

Result<Reply> show_usage(Call& call) {
  return call.desk.remembered().get("usage " + call.text("since") + "\n" + call.text("account"),
                                    [&] { return usage_page(call); });
}

Result<Reply> show_share_tree(Call& call) {
  api::QueryAccountsRequest asked;
  asked.set_with_usage(true);
  const auto tree = call.cluster.accounts(asked);
  if (!tree) return failure(tree.error());
  Json value = {{"now", tree->now()}, {"half_life", tree->usage_half_life()}, {"shares", Json::array()}};
  std::deque<view::ShareUsage> usage;
  const bool is_kept = tree->accounts_size() > 1;  // else there is root alone
  for (const view::ShareLine& line :
       is_kept ? view::share_tree_lines(*tree, {}, usage) : std::vector<view::ShareLine>()) {
    if (value["shares"].size() == kMostRows) break;
    value["shares"].push_back(share_json(line));
  }
  return json_reply(value);
}

Result<Reply> show_waste(Call& call) {
  return call.desk.remembered().get(
      "waste " + call.text("days") + "\n" + call.text("account") + "\n" + call.text("user"),
      [&] { return waste_page(call); });
}

}  // namespace minke::portal
