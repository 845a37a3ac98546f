// The cluster as a whole, its nodes and partitions, and what concerns the one who asks (/home).
#include <algorithm>
#include <cerrno>
#include <ctime>
#include <deque>
#include <map>

#include "api/accounting.pb.h"
#include "api/accounts.pb.h"
#include "api/jobs.pb.h"
#include "api/machine.pb.h"
#include "api/measurements.pb.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "helpers/counted_tiers.h"
#include "helpers/purge_notice.h"
#include "model/accounts.pb.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "portal/desk.h"
#include "portal/ended_jobs.h"
#include "portal/job_json.h"
#include "portal/openapi.h"
#include "portal/routes.h"
#include "text/gres_count.h"
#include "text/number.h"
#include "text/printable.h"
#include "text/tres.h"
#include "view/node_text.h"
#include "view/sshare.h"
#include "view/text.h"

namespace minke::portal {
namespace {

Result<Reply> show_cluster(Call& call);

std::string gres_text(const google::protobuf::RepeatedPtrField<model::Gres>& list) {
  const std::vector<model::Gres> gres(list.begin(), list.end());
  return text::format_gres_offer(gres);
}

Json texts(const google::protobuf::RepeatedPtrField<std::string>& list) {
  Json values = Json::array();
  for (const std::string& text : list) values.push_back(text);
  return values;
}

Json node_json(const model::NodeRecord& node) {
  const view::ShownNodeState state = view::shown_state(node);
  return {{"name", node.name()},
          {"state", text::upper_case(view::state_complete(state))},
          {"takes_jobs", state.base != view::NodeBaseState::kDown && !state.drain && !state.fail},
          {"reason", text::printable(node.reason())},
          {"reason_time", node.reason_time()},
          {"cpus", node.cpus()},
          {"allocated_cpus", node.allocated_cpus()},
          {"load", node.cpu_load()},
          {"memory_mib", node.memory_mib()},
          {"allocated_memory_mib", node.allocated_memory_mib()},
          {"free_memory_mib", node.free_memory_mib()},
          {"gpus", text::gpus_in(node.gres())},
          {"allocated_gpus", text::gpus_in(node.allocated_gres())},
          {"gres", gres_text(node.gres())},
          {"running_jobs", node.running_jobs()},
          {"features", texts(node.features())},
          {"partitions", texts(node.partitions())},
          {"reservation", text::printable(node.reservation())},
          {"boot_time", node.boot_time()},
          {"version", node.version()},
          {"os", text::printable(node.os())}};
}

Result<Reply> list_nodes(Call& call) {
  const auto nodes = engine::fetch_nodes(call.cluster);
  if (!nodes) return failure(nodes.error());
  Json value = {{"now", nodes->now}, {"nodes", Json::array()}};
  for (const model::NodeRecord* node : nodes->records) value["nodes"].push_back(node_json(*node));
  return json_reply(value);
}

// What anybody may know of nodes: no reasons, no names of people.
Result<Reply> list_public_nodes(Call& call) {
  constexpr size_t kMostNodes = 5000;
  const auto nodes = engine::fetch_nodes(call.cluster);
  if (!nodes) return failure(nodes.error());
  Json value = {{"now", nodes->now}, {"nodes", Json::array()}};
  for (const model::NodeRecord* node : nodes->records) {
    if (value["nodes"].size() == kMostNodes) break;
    const Json all = node_json(*node);
    Json few = Json::object();
    for (const char* field : {"name", "state", "takes_jobs", "cpus", "allocated_cpus", "load", "memory_mib",
                              "allocated_memory_mib", "free_memory_mib", "gpus", "allocated_gpus"})
      few[field] = all[field];
    value["nodes"].push_back(std::move(few));
  }
  return json_reply(value);
}

Result<Reply> show_public_nodes(Call& call) {
  return call.desk.remembered().get("public nodes", [&] { return list_public_nodes(call); });
}

Result<Reply> show_public_cluster(Call& call) {
  return call.desk.remembered().get("public cluster", [&] { return show_cluster(call); });
}

Result<Reply> show_node(Call& call) {
  const auto nodes = engine::fetch_nodes(call.cluster);
  if (!nodes) return failure(nodes.error());
  const std::string name = call.text("name");
  for (const model::NodeRecord* node : nodes->records) {
    if (node->name() != name) continue;
    Json value = {{"now", nodes->now}, {"node", node_json(*node)}, {"jobs", Json::array()}};
    api::JobFilter filter;
    filter.add_nodes(name);
    filter.add_states(model::JOB_RUNNING);
    filter.add_states(model::JOB_SUSPENDED);
    if (const auto jobs = engine::fetch_jobs(call.cluster, std::move(filter)))
      for (const model::JobRecord* job : jobs->records) value["jobs"].push_back(job_row(*job, nodes->now));
    return json_reply(value);
  }
  return failure("there is no node of this name", ENOENT);
}

Json minutes_or_null(uint32_t minutes) {
  return minutes == view::kUnlimited ? Json() : Json(minutes);
}

Result<Reply> list_partitions(Call& call) {
  const auto partitions = engine::fetch_partitions(call.cluster);
  if (!partitions) return failure(partitions.error());
  Json value = {{"now", partitions->now}, {"partitions", Json::array()}};
  for (const model::PartitionRecord* one : partitions->records)
    value["partitions"].push_back(
        {{"name", one->name()},
         {"state", one->state()},
         {"is_default", one->is_default()},
         {"nodes", one->nodes()},
         {"node_count", one->total_nodes()},
         {"cpus", one->total_cpus()},
         {"memory_mib", one->total_memory_mib()},
         {"gpus", text::gpus_in(one->total_gres())},
         {"limit_minutes", minutes_or_null(one->max_time_minutes())},
         {"default_minutes",
          one->default_time_minutes() == 0 ? Json() : minutes_or_null(one->default_time_minutes())},
         {"priority_tier", one->priority_tier()}});
  return json_reply(value);
}

Result<Reply> show_cluster(Call& call) {
  const auto identity = call.cluster.identity();
  if (!identity) return failure(identity.error());
  const auto nodes = engine::fetch_nodes(call.cluster);
  if (!nodes) return failure(nodes.error());
  std::map<std::string, uint64_t> states;
  uint64_t cpus = 0, held_cpus = 0, gpus = 0, held_gpus = 0, memory = 0, held_memory = 0;
  for (const model::NodeRecord* node : nodes->records) {
    ++states[text::upper_case(view::state_complete(view::shown_state(*node)))];
    cpus += node->cpus();
    held_cpus += node->allocated_cpus();
    memory += node->memory_mib();
    held_memory += node->allocated_memory_mib();
    gpus += text::gpus_in(node->gres());
    held_gpus += text::gpus_in(node->allocated_gres());
  }
  return json_reply({{"now", nodes->now},
                     {"name", identity->cluster},
                     {"product", identity->product},
                     {"version", identity->version},
                     {"can_explain", call.cluster.explanations().has_value()},
                     {"can_measure", call.cluster.measurements().has_value()},
                     {"node_states", states},
                     {"nodes", nodes->records.size()},
                     {"cpus", cpus},
                     {"allocated_cpus", held_cpus},
                     {"memory_mib", memory},
                     {"allocated_memory_mib", held_memory},
                     {"gpus", gpus},
                     {"allocated_gpus", held_gpus}});
}

Json shares_json(engine::Engine& cluster, const std::string& user) {
  Json lines = Json::array();
  api::QueryAccountsRequest asked;
  asked.set_with_usage(true);
  const auto tree = cluster.accounts(asked);
  if (!tree || tree->accounts_size() <= 1) return lines;  // nobody keeps accounts
  std::deque<view::ShareUsage> usage;
  for (const view::ShareLine& line : view::share_tree_lines(*tree, {{}, {user}, true}, usage))
    lines.push_back({{"account", std::string(text::trim(line.account))},
                     {"user", line.user},
                     {"norm_shares", line.norm_shares},
                     {"norm_usage", line.norm_usage},
                     {"level", line.rank && line.rank->level < 1e300 ? Json(line.rank->level) : Json()},
                     {"fair_share", line.rank && line.rank->factor ? Json(*line.rank->factor) : Json()}});
  return lines;
}

using Ordered = std::vector<const model::JobRecord*>;
constexpr size_t kMostRows = 50;  // of a list on the home page, which names how many more there are

// The rows of the first jobs of `all`, whose records are asked for again: of those that wait, with the
// forecast of each start.
Result<Json> rows_of_first(Call& call, Ordered all, bool is_waiting) {
  const auto first = all.begin() + static_cast<ptrdiff_t>(std::min(kMostRows, all.size()));
  std::partial_sort(all.begin(), first, all.end(), [](auto* a, auto* b) {
    return a->priority() != b->priority() ? a->priority() > b->priority() : a->job_id() < b->job_id();
  });
  all.erase(first, all.end());
  Json rows = Json::array();
  if (all.empty()) return rows;
  api::JobFilter filter;
  for (const model::JobRecord* job : all) filter.add_jobs()->set_job_id(job->job_id());
  const auto fetched = engine::fetch_jobs(call.cluster, std::move(filter), is_waiting);
  if (!fetched) return failure(fetched.error());
  // Of an array's number all tasks come.
  Ordered jobs;
  for (const model::JobRecord* job : fetched->records)
    if (std::any_of(all.begin(), all.end(), [&](auto* one) { return one->job_id() == job->job_id(); }))
      jobs.push_back(job);
  std::stable_sort(jobs.begin(), jobs.end(), [](auto* a, auto* b) {
    const auto start = [](const auto* job) { return job->start_time() == 0 ? INT64_MAX : job->start_time(); };
    return start(a) < start(b);
  });
  for (const model::JobRecord* job : jobs) rows.push_back(job_row(*job, fetched->now));
  return rows;
}

// What of one's own has ended since then, the newest first. No more are counted than a person reads.
void add_ended(Call& call, int64_t since, int64_t now, Json& value) {
  constexpr size_t kMostCounted = 1000;
  api::QueryAccountingRequest query;
  query.mutable_filter()->add_uids(call.desk.uid());
  query.mutable_filter()->set_all_states(true);
  query.set_from(since);
  Json rows = Json::array();
  uint64_t count = 0;
  const auto read = read_back(call.cluster, std::move(query), {.most = kMostCounted}, [&](const auto& one) {
    if (++count <= kMostRows) rows.push_back(job_row(one.job(), now));
    return true;
  });
  value["ended"] = std::move(rows);
  value["ended_count"] = count;
  value["ended_more"] = read && !read->is_all;
  value["problem"] = problem_of(read);
}

Result<Reply> show_home(Call& call) {
  constexpr int64_t kDay = 86400;
  const auto queue = call.desk.queue().get(call.cluster, std::chrono::seconds(1));
  if (!queue) return failure(queue.error());
  const int64_t now = (*queue)->now != 0 ? (*queue)->now : std::time(nullptr);
  Ordered running, waiting;
  for (const model::JobRecord* job : (*queue)->jobs) {
    if (job->uid() != call.desk.uid() || view::is_finished(job->state())) continue;
    (job->state() == model::JOB_PENDING ? waiting : running).push_back(job);
  }
  auto running_rows = rows_of_first(call, running, false);
  if (!running_rows) return failure(running_rows.error());
  auto waiting_rows = rows_of_first(call, waiting, true);
  if (!waiting_rows) return failure(waiting_rows.error());
  Json value = {{"now", now},
                {"user", call.desk.user()},
                {"running", std::move(*running_rows)},
                {"waiting", std::move(*waiting_rows)},
                {"running_count", running.size()},
                {"waiting_count", waiting.size()}};
  const int64_t since = call.has("since") ? std::max(call.number("since"), now - 30 * kDay) : now - kDay;
  add_ended(call, since, now, value);
  value["shares"] = shares_json(call.cluster, call.desk.user());
  return json_reply(value);
}

// What one has in the tiers of storage, as diskusage_report tells it; no tree is walked through for it.
Result<Reply> show_storage(Call& call) {
  Json value = {{"user", call.desk.user()}, {"tiers", Json::array()}};
  const auto cluster = helpers::cluster_with_tiers();
  if (!cluster) return json_reply(value);  // it has none
  for (const helpers::CountedTier& one :
       helpers::count_tiers(*cluster, helpers::whoever_runs_this(), {}, helpers::Counting::kKept)) {
    const auto notice = one.tier.purge_days == 0 || one.tier.of_node
                            ? std::nullopt
                            : helpers::purge_notice_of(*cluster, one.tier, one.path);
    value["tiers"].push_back({{"name", one.tier.name},
                              {"group", one.tier.of_group ? one.group : std::string()},
                              {"path", text::printable(one.path)},
                              {"is_counted", one.there},
                              {"problem", one.problem},
                              {"bytes", one.usage.total.space},
                              {"bytes_limit", one.tier.space},
                              {"files", one.usage.total.entries},
                              {"files_limit", one.tier.files},
                              {"is_backed_up", one.tier.backed_up},
                              {"purge_days", one.tier.purge_days},
                              {"removal", notice && notice->files > 0 ? notice->removal : 0},
                              {"purged_files", notice ? notice->files : 0}});
  }
  return json_reply(value);
}

Result<Reply> show_openapi(Call& call) {
  return Reply{.body = openapi_document(static_cast<int>(call.number("version", kNewestPage)))};
}

constexpr Parameter kHome[] = {
    {"since", "what ended after it; s since the epoch", Kind::kTime, In::kQuery, 0, int64_t{1} << 40}};
constexpr Parameter kOpenapi[] = {
    {"version", "of Slurm's pages: v0.0.N", Kind::kNumber, In::kQuery, kOldestPage, kNewestPage}};

constexpr Route kRoutes[] = {
    {"GET", "/api/v1/home", Who::kVisitor, "one's own jobs and shares", show_home, "home", kHome},
    {"GET", "/api/v1/storage", Who::kVisitor, "one's own tiers of storage", show_storage, "storage"},
    {"GET", "/api/v1/cluster", Who::kVisitor, "the cluster as a whole", show_cluster, "cluster"},
    {"GET", "/api/v1/nodes", Who::kVisitor, "all nodes", list_nodes, "nodes"},
    {"GET", "/api/v1/nodes/{name}", Who::kVisitor, "one node, and what runs there", show_node, "node_page"},
    {"GET", "/api/v1/partitions", Who::kVisitor, "all partitions", list_partitions, "partitions"},
    {"GET", "/api/v1/public/cluster", Who::kPublic, "the cluster as a whole", show_public_cluster, "cluster"},
    {"GET", "/api/v1/public/nodes", Who::kPublic, "nodes and their load", show_public_nodes, "public_nodes"},
    {"GET", "/openapi/v3", Who::kVisitor, "this description", show_openapi, "openapi", kOpenapi},
};

}  // namespace

std::span<const Route> cluster_routes() {
  return kRoutes;
}

}  // namespace minke::portal
