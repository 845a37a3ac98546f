// What was: how jobs ended and why, what they cost, who held what of a node, how long each kind waited; and
// what a visitor should be told on the first page.
#include <algorithm>
#include <ctime>
#include <map>
#include <set>

#include "api/accounting.pb.h"
#include "api/machine.pb.h"
#include "engine/end_clues.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "helpers/counted_tiers.h"
#include "helpers/purge_notice.h"
#include "model/allocation.pb.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "portal/desk.h"
#include "portal/ended_jobs.h"
#include "portal/found_job.h"
#include "portal/job_json.h"
#include "portal/page_answers.h"
#include "portal/site.h"
#include "text/gres_count.h"
#include "text/job_id.h"
#include "text/printable.h"
#include "view/footprint.h"
#include "view/held_over_time.h"
#include "view/reservation_text.h"
#include "view/text.h"
#include "view/wait_times.h"
#include "view/why.h"

namespace minke::portal {
namespace {

constexpr int64_t kDay = 86400;
constexpr size_t kMostFailures = 20, kMostCounted = 1000;
constexpr size_t kMostBars = 2000;

std::string user_of(const Call& call) {
  const std::string user = call.text("user");
  return user.empty() || user == "me" ? call.desk.user() : user;
}

Json message_json(std::string_view kind, std::string_view weight, const std::string& text, int64_t time = 0,
                  Json numbers = Json::object()) {
  return {{"kind", kind},
          {"weight", weight},
          {"text", text::printable(text)},
          {"time", time},
          {"numbers", std::move(numbers)}};
}

// Of tiers that are counted all the time: no tree is walked through.
void add_storage_messages(Json& list) {
  constexpr double kNear = 0.9;
  const auto cluster = helpers::cluster_with_tiers();
  if (!cluster) return;
  const helpers::Person person = helpers::whoever_runs_this();
  for (const helpers::CountedTier& one :
       helpers::count_tiers(*cluster, person, {}, helpers::Counting::kKept)) {
    if (const auto notice = helpers::purge_notice_of(*cluster, one.tier, one.path);
        notice && notice->files > 0)
      list.push_back(
          message_json("purge", "warning", one.tier.name, notice->removal,
                       {{"files", notice->files}, {"bytes", notice->bytes}, {"days", one.tier.purge_days}}));
    if (!one.there) continue;
    const auto share = [](uint64_t used, uint64_t limit) {
      return limit == 0 ? 0 : static_cast<double>(used) / static_cast<double>(limit);
    };
    const double most = std::max(share(one.usage.total.space, one.tier.space),
                                 share(one.usage.total.entries, one.tier.files));
    if (most >= kNear)
      list.push_back(message_json("quota", most >= 1 ? "critical" : "warning",
                                  one.tier.of_group ? one.tier.name + " " + one.group : one.tier.name, 0,
                                  {{"percent", 100 * most}}));
  }
}

// Maintenance of the next week: jobs that would reach into it wait.
void add_reservation_messages(Call& call, int64_t now, Json& list) {
  const auto reply = call.cluster.reservations();
  if (!reply) return;
  for (const model::ReservationRecord& one : reply->reservations()) {
    const auto& flags = one.flags();
    if (std::find(flags.begin(), flags.end(), "MAINT") == flags.end()) continue;
    if (one.end_time() <= now || one.start_time() > now + 7 * kDay) continue;
    list.push_back(message_json("maintenance", "info", one.name(), one.start_time(),
                                {{"nodes", one.node_count()}, {"end", one.end_time()}}));
  }
}

Json footprint_json(const view::Footprint& print, const config::PortalSettings& settings) {
  const clusters::Costs& costs = settings.costs;
  return {{"jobs", print.jobs},
          {"measured_jobs", print.measured_jobs},
          {"core_hours", print.core_hours},
          {"gpu_hours", print.gpu_hours},
          {"kwh", print.measured_jobs > 0 ? Json(print.kwh) : Json()},
          {"kg_co2", print.measured_jobs > 0 ? Json(print.kg_co2(costs)) : Json()},
          {"car_km", print.measured_jobs > 0 ? Json(print.car_km(costs)) : Json()},
          {"electricity_cost", print.electricity_cost(costs)},
          {"cost", print.cost(costs)},
          {"cloud_cost", print.cloud_cost},
          {"currency", costs.currency},
          {"has_own_costs", settings.has_own_costs},
          {"constants",
           {{"core_hour", costs.core_hour},
            {"gpu_hour", costs.gpu_hour},
            {"kwh", costs.kwh},
            {"cooling", costs.cooling},
            {"kg_co2_per_mwh", costs.kg_co2_per_mwh},
            {"km_per_kwh", costs.km_per_kwh},
            {"cloud_core_hour", costs.cloud_core_hour},
            {"cloud_gpu_hour", costs.cloud_gpu_hour}}}};
}

// Cores and GPUs that were held, at each moment where that changed.
Json held_json(const std::vector<view::HeldOverTime::Step>& steps) {
  Json time = Json::array(), cpus = Json::array(), gpus = Json::array();
  for (const view::HeldOverTime::Step& one : steps) {
    time.push_back(one.time);
    cpus.push_back(one.cpus);
    gpus.push_back(one.gpus);
  }
  return {{"time", std::move(time)}, {"cpus", std::move(cpus)}, {"gpus", std::move(gpus)}};
}

// What a job held of one node; of no node: of all.
std::pair<int64_t, int64_t> held_of(const model::JobRecord& job, const std::string& node) {
  if (!node.empty())
    for (const model::NodeAllocation& one : job.nodes()) {
      if (one.node() != node) continue;
      return {static_cast<int64_t>(one.cpus()), static_cast<int64_t>(text::gpus_in(one.gres()))};
    }
  return {job.num_cpus(), static_cast<int64_t>(gpus_of(job))};
}

Result<Reply> footprint_page(Call& call) {
  const int64_t asked_at = std::time(nullptr), since = asked_at - call.number("days", 30) * kDay;
  const config::PortalSettings settings = site_settings();
  api::QueryAccountingRequest query;
  ask_for_user(user_of(call), query);
  query.mutable_filter()->set_all_states(true);
  query.set_from(since);
  query.set_brief(true);
  view::Footprint sum;
  const Status read = for_each_since(call, query, [&](const api::AccountedJob& one) {
    sum += view::footprint_of(one, settings.costs, asked_at);
  });
  if (!read) return failure(read.error());
  return json_reply(footprint_json(sum, settings));
}

// The bars of jobs, and what they held together.
struct Timeline {
  int64_t since, asked_at;
  std::string node;
  size_t most_bars = kMostBars;
  view::HeldOverTime held = {};
  std::vector<std::pair<int64_t, Json>> bars = {};
  uint64_t left_out = 0;

  void add(const model::JobRecord& job) {
    if (job.start_time() == 0) return;
    const bool is_over = view::is_finished(job.state());
    const int64_t end = is_over ? job.end_time() : asked_at + 1;  // it still holds it
    const auto [cpus, gpus] = held_of(job, node);
    held.add(job.start_time(), std::max(end, job.start_time()), cpus, gpus);
    if (bars.size() >= most_bars) {
      ++left_out;
      return;
    }
    bars.emplace_back(job.start_time(), Json{{"job_id", job.job_id()},
                                             {"id", text::format_job_id(job)},
                                             {"name", text::printable(view::job_name(job))},
                                             {"user", job.user_name()},
                                             {"state", view::state_text(job)},
                                             {"start", job.start_time()},
                                             {"end", is_over ? end : 0},
                                             {"cpus", cpus},
                                             {"gpus", gpus}});
  }

  // What was held from `since` on.
  Json json() {
    std::stable_sort(bars.begin(), bars.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    Json value = {{"now", asked_at}, {"since", since}, {"left_out", left_out}, {"bars", Json::array()}};
    for (auto& [start, bar] : bars) value["bars"].push_back(std::move(bar));
    value["held"] = held_json(held.steps(since, asked_at));
    return value;
  }
};

// Where more jobs ended than it looks at, it begins later: with what it has seen all of.
Result<Reply> timeline_page(Call& call) {
  constexpr size_t kMostJobs = 20000;
  const int64_t asked_at = std::time(nullptr);
  Timeline timeline{asked_at - call.number("days", 7) * kDay, asked_at, call.text("node")};
  api::QueryAccountingRequest query;
  query.mutable_filter()->set_all_states(true);
  query.set_from(timeline.since);
  query.set_brief(true);
  if (!timeline.node.empty()) query.mutable_filter()->add_nodes(timeline.node);
  const bool is_of_all = call.has("everyone") && !call.has("user");
  if (is_of_all) timeline.most_bars = 0;
  if ((timeline.node.empty() && !is_of_all) || call.has("user")) ask_for_user(user_of(call), query);
  std::set<uint32_t> ran;
  const Status told = for_each_running(call, query, [&](const api::AccountedJob& one) {
    ran.insert(one.job().job_id());
    timeline.add(one.job());
  });
  if (!told) return failure(told.error());
  const auto read =
      read_back(call.cluster, query, {.most = kMostJobs, .patience = std::chrono::milliseconds(150)},
                [&](const api::AccountedJob& one) {
                  if (!ran.contains(one.job().job_id())) timeline.add(one.job());
                  return true;
                });
  if (!read) return failure(read.error());
  if (!read->is_all) timeline.since = std::min(asked_at, read->next.end_time() + 1);
  return json_reply(timeline.json());
}

Result<Reply> waits_page(Call& call) {
  const int64_t asked_at = std::time(nullptr), since = asked_at - call.number("days", 7) * kDay;
  api::QueryAccountingRequest query;
  query.mutable_filter()->set_all_states(true);
  query.set_from(since);
  query.set_brief(true);
  view::WaitTally tally(since);
  const Status read =
      for_each_since(call, query, [&](const api::AccountedJob& one) { tally.add(one.job()); });
  if (!read) return failure(read.error());
  Json value = {{"now", asked_at}, {"since", since}, {"kinds", Json::array()}};
  for (const view::WaitTally::Row& row : tally.rows())
    value["kinds"].push_back({{"partition", row.partition},
                              {"has_gpus", row.has_gpus},
                              {"limit_minutes", row.limit_minutes},
                              {"jobs", row.jobs},
                              {"median", row.median},
                              {"mean", row.mean},
                              {"most", row.most},
                              {"completed", row.completed},
                              {"timed_out", row.timed_out},
                              {"run_share", row.run_share}});
  return json_reply(value);
}

}  // namespace

Result<Reply> show_messages(Call& call) {
  const int64_t now = std::time(nullptr);
  Json list = Json::array();
  for (const std::string& message : site_settings().messages)
    list.push_back(message_json("site", "info", message));
  add_reservation_messages(call, now, list);
  add_storage_messages(list);
  return json_reply({{"now", now}, {"messages", std::move(list)}});
}

Result<Reply> show_failures(Call& call) {
  const int64_t asked_at = std::time(nullptr);
  const int64_t since = std::max(call.number("since", asked_at - kDay), asked_at - 30 * kDay);
  api::QueryAccountingRequest query;
  query.mutable_filter()->add_uids(call.desk.uid());
  query.mutable_filter()->set_all_states(true);
  query.set_from(since);
  for (const model::JobState state :
       {model::JOB_FAILED, model::JOB_TIMEOUT, model::JOB_NODE_FAIL, model::JOB_PREEMPTED,
        model::JOB_BOOT_FAIL, model::JOB_DEADLINE, model::JOB_OOM})
    query.mutable_filter()->add_states(state);
  std::vector<model::JobRecord> failed;
  uint64_t total = 0;
  const auto read = read_back(call.cluster, query, {.most = kMostCounted}, [&](const api::AccountedJob& one) {
    if (++total <= kMostFailures) failed.push_back(one.job());
    return true;
  });
  if (!read) return failure(read.error());
  Json value = {{"now", asked_at}, {"total", total}, {"more", !read->is_all}, {"failures", Json::array()}};
  view::DisplayContext context;
  context.now = asked_at;
  for (model::JobRecord& job : failed) {
    engine::add_end_clues(call.cluster, job);
    const Json why = Json::parse(view::why_ended_json(job, context), nullptr, false);
    value["failures"].push_back(
        {{"job", job_row(job, asked_at)}, {"why", why.is_object() ? why.value("ended", "") : std::string()}});
  }
  return json_reply(value);
}

Result<Reply> show_footprint(Call& call) {
  return call.desk.remembered().get("footprint " + call.text("days") + "\n" + call.text("user"),
                                    [&] { return footprint_page(call); });
}

Result<Reply> show_job_footprint(Call& call) {
  const auto found = find_job(call, true);
  if (!found) return failure(found.error());
  const config::PortalSettings settings = site_settings();
  return json_reply(
      footprint_json(view::footprint_of(found->accounted, settings.costs, found->now), settings));
}

Result<Reply> show_timeline(Call& call) {
  return call.desk.remembered().get("timeline " + call.text("days") + "\n" + call.text("user") + "\n" +
                                        call.text("node") + "\n" + call.text("everyone"),
                                    [&] { return timeline_page(call); });
}

// What jobs held of the whole cluster; whose they were is not told.
Result<Reply> show_held(Call& call) {
  call.set("everyone", "1");
  return show_timeline(call);
}

Result<Reply> show_waits(Call& call) {
  return call.desk.remembered().get("waits " + call.text("days"), [&] { return waits_page(call); });
}

Result<Reply> list_reservations(Call& call) {
  const auto reply = call.cluster.reservations();
  if (!reply) return failure(reply.error());
  const auto nodes = engine::fetch_nodes(call.cluster);
  if (!nodes) return failure(nodes.error());
  const auto texts_of = [](const auto& list) {
    Json values = Json::array();
    for (const auto& one : list) values.push_back(text::printable(one));
    return values;
  };
  Json value = {{"now", reply->now()}, {"reservations", Json::array()}};
  for (const model::ReservationRecord& one : reply->reservations()) {
    // A real Slurm tells the number itself, and not how it lies on the nodes.
    const uint32_t cores = std::max(one.core_count(), view::reservation_cores(one, nodes->records));
    Json names = Json::array();
    for (const auto& share : one.shares()) names.push_back(share.node());
    value["reservations"].push_back({{"name", text::printable(one.name())},
                                     {"start", one.start_time()},
                                     {"end", one.end_time()},
                                     {"flags", texts_of(one.flags())},
                                     {"users", texts_of(one.users())},
                                     {"accounts", texts_of(one.accounts())},
                                     {"nodes", std::move(names)},
                                     {"cores", cores},
                                     {"comment", text::printable(one.comment())}});
  }
  return json_reply(value);
}

}  // namespace minke::portal
