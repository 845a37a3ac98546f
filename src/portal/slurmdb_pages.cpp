// Slurm's pages of the accounts' keeper: /slurmdb/v0.0.N/…
#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>

#include "api/accounting.pb.h"
#include "api/accounts.pb.h"
#include "api/diagnostics.pb.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/fetch_accounts.h"
#include "model/accounts.pb.h"
#include "model/cluster.pb.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "portal/desk.h"
#include "portal/slurm_answers.h"
#include "text/job_id.h"
#include "text/list.h"
#include "view/document/accounts.h"
#include "view/document/answers.h"
#include "view/document/configuration.h"
#include "view/document/machine.h"
#include "view/document/records.h"
#include "view/sacct.h"

namespace minke::portal {
namespace {

using view::DisplayContext;
using view::Document;

constexpr int64_t kDay = 86400;

Status describe_jobs(Call& call, Document& document, const api::QueryAccountingRequest& query,
                     DisplayContext& context, Remarks& remarks) {
  const auto records = engine::fetch_accounting(call.cluster, query);
  if (!records && records.error().code != model::kInvalidJobId) return failure(records.error());
  if (!records || records->records.empty()) remarks.warnings.emplace_back("slurmdb_jobs_get() found nothing");
  if (records && records->now != 0) context.now = records->now;
  const auto lines =
      view::sacct_lines(records ? records->records : std::vector<const api::AccountedJob*>(), {});
  document.begin_array("jobs");
  for (size_t i = 0; i < lines.size();) {
    const api::AccountedJob* accounted = lines[i].accounted;
    std::vector<const model::StepRecord*> steps;
    for (; i < lines.size() && lines[i].accounted == accounted; ++i)
      if (lines[i].step != nullptr) steps.push_back(lines[i].step);
    view::describe_accounted_job(document, accounted->job(), steps, context);
  }
  document.end();
  return {};
}

// As sacct: the jobs of today, unless asked for others.
Result<Reply> jobs_page(Call& call) {
  return slurm_page(call, view::answer::kAccountedJobs,
                    [&](Document& document, DisplayContext& context, Remarks& remarks) {
                      api::QueryAccountingRequest query;
                      query.mutable_filter()->set_all_states(true);
                      query.set_with_steps(true);
                      query.set_from(call.number("start_time", context.now - kDay));
                      query.set_until(call.number("end_time"));
                      for (const std::string& user : text::split_list(call.text("users")))
                        query.mutable_filter()->add_users(user);
                      for (const std::string& one : text::split_list(call.text("account")))
                        query.mutable_filter()->add_accounts(one);
                      for (const std::string& one : text::split_list(call.text("partition")))
                        query.mutable_filter()->add_partitions(one);
                      return describe_jobs(call, document, query, context, remarks);
                    });
}

Result<Reply> job_page(Call& call) {
  return slurm_page(call, view::answer::kAccountedJobs,
                    [&](Document& document, DisplayContext& context, Remarks& remarks) -> Status {
                      const auto job = text::parse_job_id(call.text("job"));
                      if (!job) return failure(job.error());
                      api::QueryAccountingRequest query;
                      *query.mutable_filter()->add_jobs() = engine::selector_of(*job);
                      query.mutable_filter()->set_all_states(true);
                      query.set_with_steps(true);
                      return describe_jobs(call, document, query, context, remarks);
                    });
}

using Listing =
    std::function<void(Document& document, const accounts::AccountBook& book, const std::string& cluster)>;

Result<Reply> book_page(Call& call, std::string_view answer, const char* key, const Listing& list) {
  return slurm_page(call, answer, [&](Document& document, DisplayContext& context, Remarks&) -> Status {
    const auto reply = call.cluster.accounts(api::QueryAccountsRequest());
    if (!reply) return failure(reply.error());
    const auto book = engine::account_book_of(*reply);
    if (!book) return failure(book.error());
    document.begin_array(key);
    list(document, *book, context.cluster_name);
    document.end();
    return {};
  });
}

// Whether a record of this name is asked for.
bool is_wanted(const Call& call, const std::string& name) {
  return !call.has("name") || call.text("name") == name;
}

Result<Reply> accounts_page(Call& call) {
  return book_page(call, view::answer::kAccounts, "accounts", [&](auto& document, auto& book, auto& cluster) {
    for (const auto& [name, record] : book.accounts())
      if (is_wanted(call, name)) view::describe_account(document, record, book, cluster, true);
  });
}

Result<Reply> users_page(Call& call) {
  return book_page(call, view::answer::kUsers, "users", [&](auto& document, auto& book, auto& cluster) {
    for (const auto& [name, record] : book.users())
      if (is_wanted(call, name)) view::describe_user(document, record, book, cluster, true);
  });
}

Result<Reply> associations_page(Call& call) {
  return book_page(call, view::answer::kAssociations, "associations",
                   [](auto& document, auto& book, auto& cluster) {
                     for (const auto& [id, record] : book.associations())
                       view::describe_association(document, record, book,
                                                  record.cluster().empty() ? cluster : record.cluster());
                   });
}

Result<Reply> qos_page(Call& call) {
  return book_page(call, view::answer::kQos, "qos", [&](auto& document, auto& book, auto&) {
    for (const auto& [id, record] : book.qos())
      if (is_wanted(call, record.name())) view::describe_qos(document, record);
  });
}

Result<Reply> wckeys_page(Call& call) {
  return book_page(call, view::answer::kWckeys, "wckeys", [](auto&, auto&, auto&) {});
}

Result<Reply> clusters_page(Call& call) {
  return book_page(call, view::answer::kClusters, "clusters", [&](auto& document, auto& book, auto& cluster) {
    std::vector<model::NodeRecord> nodes;
    if (const auto fetched = engine::fetch_nodes(call.cluster))
      for (const model::NodeRecord* node : fetched->records) nodes.push_back(*node);
    for (const auto& [name, record] : book.clusters())
      view::describe_cluster(
          document, name.empty() ? cluster : name, book.root_of(name),
          name.empty() ? std::span<const model::NodeRecord>(nodes) : std::span<const model::NodeRecord>());
  });
}

Result<Reply> tres_page(Call& call) {
  struct Kind {
    const char* type;
    const char* name;
    int64_t id;
  };
  static constexpr Kind kKinds[] = {{"cpu", "", 1},  {"mem", "", 2},     {"energy", "", 3},
                                    {"node", "", 4}, {"billing", "", 5}, {"fs", "disk", 6},
                                    {"vmem", "", 7}, {"pages", "", 8},   {"gres", "gpu", 1001}};
  return slurm_page(call, view::answer::kTres, [](Document& document, DisplayContext&, Remarks&) -> Status {
    document.begin_array("TRES");
    for (const Kind& kind : kKinds) view::describe_tres_kind(document, kind.type, kind.name, kind.id, 0);
    document.end();
    return {};
  });
}

Result<Reply> instances_page(Call& call) {
  return slurm_page(call, view::answer::kInstances,
                    [](Document&, DisplayContext&, Remarks&) { return Status(); });
}

Result<Reply> ping_page(Call& call) {
  return slurm_page(
      call, view::answer::kAccountingPings, [&](Document& document, DisplayContext&, Remarks&) -> Status {
        const auto begin = std::chrono::steady_clock::now();
        const auto identity = call.cluster.identity();
        const auto waited = std::chrono::steady_clock::now() - begin;
        document.begin_array("pings");
        view::describe_ping(document, "localhost", identity.has_value(),
                            std::chrono::duration_cast<std::chrono::microseconds>(waited).count());
        document.end();
        return {};
      });
}

Result<Reply> diagnostics_page(Call& call) {
  return slurm_page(call, view::answer::kAccountingStatistics,
                    [&](Document& document, DisplayContext&, Remarks&) -> Status {
                      const auto ability = call.cluster.administration();
                      if (!ability) return failure(ability.error());
                      const auto answer = (*ability)->diagnostics(api::QueryDiagnosticsRequest());
                      if (!answer) return failure(answer.error());
                      view::describe_accounting_statistics(document, *answer);
                      return {};
                    });
}

Result<Reply> configuration_page(Call& call) {
  return slurm_page(call, view::answer::kAccountingConfiguration,
                    [&](Document& document, DisplayContext&, Remarks&) -> Status {
                      const auto answer = call.cluster.configuration();
                      if (!answer) return failure(answer.error());
                      view::describe_accounting_configuration(document, *answer);
                      return {};
                    });
}

constexpr int64_t kLatest = int64_t{1} << 40;
constexpr Parameter kJob[] = {{"job", "a job's number", Kind::kJob, In::kPath}};
constexpr Parameter kJobs[] = {{"start_time", "UNIX timestamp", Kind::kTime, In::kQuery, 0, kLatest},
                               {"end_time", "UNIX timestamp", Kind::kTime, In::kQuery, 0, kLatest},
                               {"users", "CSV user list", Kind::kText, In::kQuery, 0, 4096},
                               {"account", "CSV account list", Kind::kText, In::kQuery, 0, 4096},
                               {"partition", "CSV partition name list", Kind::kText, In::kQuery, 0, 4096}};

constexpr Route page(std::string_view path, std::string_view is, Answering answer, std::string_view answers,
                     std::span<const Parameter> parameters = {}) {
  return {"GET", path, Who::kVisitor, is, answer, answers, parameters, true};
}
constexpr Route kRoutes[] = {
    page("/slurmdb/v0.0.{version}/jobs", "Get job list", jobs_page, view::answer::kAccountedJobs, kJobs),
    page("/slurmdb/v0.0.{version}/job/{job}", "Get job info", job_page, view::answer::kAccountedJobs, kJob),
    page("/slurmdb/v0.0.{version}/accounts", "Get account list", accounts_page, view::answer::kAccounts),
    page("/slurmdb/v0.0.{version}/account/{name}", "Get account info", accounts_page,
         view::answer::kAccounts),
    page("/slurmdb/v0.0.{version}/users", "Get user list", users_page, view::answer::kUsers),
    page("/slurmdb/v0.0.{version}/user/{name}", "Get user info", users_page, view::answer::kUsers),
    page("/slurmdb/v0.0.{version}/associations", "Get association list", associations_page,
         view::answer::kAssociations),
    page("/slurmdb/v0.0.{version}/qos", "Get QOS list", qos_page, view::answer::kQos),
    page("/slurmdb/v0.0.{version}/qos/{name}", "Get QOS info", qos_page, view::answer::kQos),
    page("/slurmdb/v0.0.{version}/tres", "Get TRES info", tres_page, view::answer::kTres),
    page("/slurmdb/v0.0.{version}/clusters", "Get cluster list", clusters_page, view::answer::kClusters),
    page("/slurmdb/v0.0.{version}/wckeys", "Get wckey list", wckeys_page, view::answer::kWckeys),
    page("/slurmdb/v0.0.{version}/instances", "Get instance list", instances_page, view::answer::kInstances),
    page("/slurmdb/v0.0.{version}/ping", "ping test", ping_page, view::answer::kAccountingPings),
    page("/slurmdb/v0.0.{version}/diag", "Get slurmdb diagnostics", diagnostics_page,
         view::answer::kAccountingStatistics),
    page("/slurmdb/v0.0.{version}/conf", "Get configuration", configuration_page,
         view::answer::kAccountingConfiguration),
};

}  // namespace

std::span<const Route> slurmdbd_routes() {
  return kRoutes;
}

}  // namespace minke::portal
