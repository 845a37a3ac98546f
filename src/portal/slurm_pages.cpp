// Slurm's pages of the controller: /slurm/v0.0.N/…
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <deque>
#include <utility>

#include "api/accounts.pb.h"
#include "api/actions.pb.h"
#include "api/diagnostics.pb.h"
#include "api/jobs.pb.h"
#include "api/machine.pb.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "model/accounts.pb.h"
#include "model/cluster.pb.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "portal/desk.h"
#include "portal/native_pages.h"
#include "portal/slurm_answers.h"
#include "text/job_id.h"
#include "text/signal_name.h"
#include "view/document/answers.h"
#include "view/document/configuration.h"
#include "view/document/machine.h"
#include "view/document/records.h"
#include "view/sdiag.h"
#include "view/sshare.h"

namespace minke::portal {
namespace {

using view::DisplayContext;
using view::Document;

view::DocumentOrigin origin_of(bool of_accounts) {
  static const view::DocumentOrigin self = view::document_origin(0, nullptr);
  view::DocumentOrigin origin = self;
  origin.terminal = "";
  origin.plugin_type = of_accounts ? "openapi/slurmdbd" : "openapi/slurmctld";
  origin.plugin_name = of_accounts ? "Slurm OpenAPI slurmdbd" : "Slurm OpenAPI slurmctld";
  return origin;
}

bool is_of_accounts(std::string_view answer) {
  for (const view::DocumentPage& page : view::document_pages())
    if (page.answer == answer) return page.part == "/slurmdb";
  return false;
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

Result<Reply> jobs_page(Call& call, api::JobFilter filter, bool must_be_there) {
  return slurm_page(
      call, view::answer::kJobs, [&](Document& document, DisplayContext& context, Remarks&) -> Status {
        filter.set_all_states(true);
        const auto nodes = engine::fetch_nodes(call.cluster);
        const view::NodeLayouts layouts = nodes ? view::layouts_of(nodes->records) : view::NodeLayouts();
        api::QueryJobsRequest request;
        *request.mutable_filter() = std::move(filter);
        // Records are described as they come: of a long queue only the document is kept.
        bool any = false;
        document.begin_array("jobs");
        const Status told = call.cluster.jobs(request, [&](const api::JobsReply& part) -> Status {
          context.now = part.now();
          any = any || part.jobs_size() > 0;
          for (const model::JobRecord& job : part.jobs())
            view::describe_job(document, job, nullptr, context, &layouts);
          return {};
        });
        if (!told) return told;
        if (must_be_there && !any)
          return failure("Unable to query JobId=" + call.text("job"), model::kInvalidJobId);
        document.end();
        document.number("last_backfill", std::nullopt);
        return {};
      });
}

Result<Reply> all_jobs(Call& call) {
  return jobs_page(call, {}, false);
}

Result<Reply> one_job(Call& call) {
  const auto job = text::parse_job_id(call.text("job"));
  if (!job) return failure(job.error());
  api::JobFilter filter;
  *filter.add_jobs() = engine::selector_of(*job);
  return jobs_page(call, std::move(filter), true);
}

// Since v0.0.42 each job that was meant has its own outcome.
void describe_outcome(Document& document, const std::string& job, const Error& error) {
  const auto id = text::parse_job_id(job);
  document.begin_array("status");
  document.begin_object();
  document.begin_object("error");
  document.text("string", model::slurm_error_text(error.code));
  document.integer("code", error.code);
  document.text("message", error.message);
  document.end();
  document.text("step_id", job);
  document.number("job_id", id && error.code == 0 ? std::optional<int64_t>(id->job_id) : std::nullopt);
  document.begin_object("federation");
  document.text("sibling", "");
  document.end();
  document.end();
  document.end();
}

Result<Reply> cancel_job(Call& call) {
  return slurm_page(call, {}, [&](Document& document, DisplayContext&, Remarks& remarks) -> Status {
    const auto job = text::parse_job_id(call.text("job"));
    if (!job) return failure(job.error());
    api::SignalRequest request;
    *request.mutable_filter()->add_jobs() = engine::selector_of(*job);
    if (call.has("signal")) {
      const auto signal = text::parse_signal(call.text("signal"));
      if (!signal) return failure("Unknown job signal: " + call.text("signal"), EINVAL);
      request.set_signal(*signal);
    }
    const auto done = call.cluster.signal(request);
    call.desk.queue().outdate();
    Error error;
    if (!done) error = done.error();
    if (done && done->failures_size() > 0) error.code = static_cast<int>(done->failures(0).code());
    if (error.code != 0 && error.message.empty()) error.message = model::slurm_error_text(error.code);
    if (view::data_parser() >= 42)
      describe_outcome(document, call.text("job"), error);
    else if (error.code != 0)
      remarks.errors.push_back(error);
    return {};
  });
}

Result<Reply> nodes_page(Call& call) {
  return slurm_page(call, view::answer::kNodes,
                    [&](Document& document, DisplayContext& context, Remarks& remarks) -> Status {
                      const auto nodes = engine::fetch_nodes(call.cluster);
                      if (!nodes) return failure(nodes.error());
                      context.now = nodes->now;
                      bool found = !call.has("name");
                      document.begin_array("nodes");
                      for (const model::NodeRecord* node : nodes->records) {
                        if (call.has("name") && node->name() != call.text("name")) continue;
                        found = true;
                        view::describe_node(document, *node, context);
                      }
                      document.end();
                      if (!found) remarks.errors.push_back({0, "Failure to query node " + call.text("name")});
                      return {};
                    });
}

Result<Reply> partitions_page(Call& call) {
  return slurm_page(call, view::answer::kPartitions,
                    [&](Document& document, DisplayContext& context, Remarks& remarks) -> Status {
                      const auto partitions = engine::fetch_partitions(call.cluster);
                      if (!partitions) return failure(partitions.error());
                      context.now = partitions->now;
                      bool found = !call.has("name");
                      document.begin_array("partitions");
                      for (const model::PartitionRecord* one : partitions->records) {
                        if (call.has("name") && one->name() != call.text("name")) continue;
                        found = true;
                        view::describe_partition(document, "", *one, context);
                      }
                      document.end();
                      if (!found) remarks.warnings.push_back("Unable to find partition " + call.text("name"));
                      return {};
                    });
}

Result<Reply> reservations_page(Call& call) {
  return slurm_page(call, view::answer::kReservations,
                    [&](Document& document, DisplayContext& context, Remarks&) -> Status {
                      const auto reply = call.cluster.reservations();
                      if (!reply) return failure(reply.error());
                      api::NodesReply nodes;
                      const Status told = call.cluster.nodes([&](api::NodesReply& part) -> Status {
                        nodes.MergeFrom(part);
                        return {};
                      });
                      if (!told) return told;
                      context.now = reply->now();
                      document.begin_array("reservations");
                      for (const model::ReservationRecord& one : reply->reservations())
                        if (!call.has("name") || one.name() == call.text("name"))
                          view::describe_reservation(document, one, nodes);
                      document.end();
                      return {};
                    });
}

Result<Reply> licenses_page(Call& call) {
  return slurm_page(call, view::answer::kLicenses,
                    [&](Document& document, DisplayContext& context, Remarks&) -> Status {
                      const auto reply = call.cluster.licenses();
                      if (!reply) return failure(reply.error());
                      context.now = reply->now();
                      document.begin_array("licenses");
                      for (const api::License& one : reply->licenses()) view::describe_license(document, one);
                      document.end();
                      return {};
                    });
}

Result<Reply> ping_page(Call& call) {
  return slurm_page(call, view::answer::kPings, [&](Document& document, DisplayContext&, Remarks&) -> Status {
    const auto begin = std::chrono::steady_clock::now();
    const auto identity = call.cluster.identity();
    const auto waited = std::chrono::steady_clock::now() - begin;
    document.begin_array("pings");
    view::describe_ping(document, host_name(), identity.has_value(),
                        std::chrono::duration_cast<std::chrono::microseconds>(waited).count());
    document.end();
    return {};
  });
}

Result<Reply> diagnostics_page(Call& call) {
  return slurm_page(call, view::answer::kDiagnostics,
                    [&](Document& document, DisplayContext& context, Remarks&) -> Status {
                      const auto ability = call.cluster.administration();
                      if (!ability) return failure(ability.error());
                      const auto answer = (*ability)->diagnostics(api::QueryDiagnosticsRequest());
                      if (!answer) return failure(answer.error());
                      context.now = answer->now();
                      view::describe_diagnostics(document, *answer);
                      return {};
                    });
}

Result<Reply> shares_page(Call& call) {
  return slurm_page(call, view::answer::kShares,
                    [&](Document& document, DisplayContext& context, Remarks&) -> Status {
                      api::QueryAccountsRequest asked;
                      asked.set_with_usage(true);
                      const auto tree = call.cluster.accounts(asked);
                      if (!tree) return failure(tree.error());
                      context.now = tree->now();
                      std::deque<view::ShareUsage> usage;
                      document.begin_object("shares");
                      document.begin_array("shares");
                      for (const view::ShareLine& line : view::share_tree_lines(*tree, {}, usage))
                        view::describe_share(document, line, context);
                      document.end();
                      document.integer("total_shares", 1);
                      document.end();
                      return {};
                    });
}

Result<Reply> configuration_page(Call& call) {
  return slurm_page(call, view::answer::kConfiguration,
                    [&](Document& document, DisplayContext& context, Remarks&) -> Status {
                      const auto answer = call.cluster.configuration();
                      if (!answer) return failure(answer.error());
                      context.now = answer->now();
                      view::describe_configuration(document, *answer);
                      return {};
                    });
}

constexpr Parameter kJob[] = {{"job", "a job's number", Kind::kJob, In::kPath}};
constexpr Parameter kCancel[] = {{"job", "a job's number", Kind::kJob, In::kPath},
                                 {"signal", "by name or number", Kind::kText, In::kQuery, 1, 32}};

constexpr Route page(std::string_view path, std::string_view is, Answering answer, std::string_view answers,
                     std::span<const Parameter> parameters = {}) {
  return {"GET", path, Who::kVisitor, is, answer, answers, parameters, true};
}
constexpr Route change(std::string_view path, std::string_view is, Answering answer,
                       std::span<const Parameter> parameters = {}) {
  return {"POST", path, Who::kVisitor, is, answer, "openapi_resp", parameters, true, true};
}
constexpr Route kRoutes[] = {
    change("/slurm/v0.0.{version}/job/submit", "submit new job", submit_as_slurm),  // before job/{job}
    change("/slurm/v0.0.{version}/job/{job}", "update job", update_as_slurm, kJob),
    page("/slurm/v0.0.{version}/jobs", "get list of jobs", all_jobs, view::answer::kJobs),
    page("/slurm/v0.0.{version}/job/{job}", "get job info", one_job, view::answer::kJobs, kJob),
    {"DELETE", "/slurm/v0.0.{version}/job/{job}", Who::kVisitor, "cancel or signal job", cancel_job,
     "openapi_resp", kCancel, true},
    page("/slurm/v0.0.{version}/nodes", "get node(s) info", nodes_page, view::answer::kNodes),
    page("/slurm/v0.0.{version}/node/{name}", "get node info", nodes_page, view::answer::kNodes),
    page("/slurm/v0.0.{version}/partitions", "get all partition info", partitions_page,
         view::answer::kPartitions),
    page("/slurm/v0.0.{version}/partition/{name}", "get partition info", partitions_page,
         view::answer::kPartitions),
    page("/slurm/v0.0.{version}/reservations", "get all reservation info", reservations_page,
         view::answer::kReservations),
    page("/slurm/v0.0.{version}/reservation/{name}", "get reservation info", reservations_page,
         view::answer::kReservations),
    page("/slurm/v0.0.{version}/licenses", "get all license info", licenses_page, view::answer::kLicenses),
    page("/slurm/v0.0.{version}/ping", "ping test", ping_page, view::answer::kPings),
    page("/slurm/v0.0.{version}/diag", "get diagnostics", diagnostics_page, view::answer::kDiagnostics),
    page("/slurm/v0.0.{version}/shares", "get fairshare info", shares_page, view::answer::kShares),
    page("/slurm/v0.0.{version}/conf", "get configuration", configuration_page, view::answer::kConfiguration),
};

}  // namespace

Result<Reply> slurm_page(Call& call, std::string_view answer, const Describing& describe) {
  const int version = static_cast<int>(call.number("version"));
  // Of what a real Slurm's commands print as documents, theirs say most.
  if (auto native = native_page(call, answer, version)) return std::move(*native);
  view::use_data_parser(version);
  DisplayContext context = view::display_context_from_environment();
  context.now = std::time(nullptr);
  context.cluster_name = engine::fetch_cluster_name(call.cluster);
  Remarks remarks;
  Document document(view::DocumentFormat::kDenseJson, answer);
  if (const Status described = describe(document, context, remarks); !described) {
    return slurm_error(answer, version, described.error(), status_of(described.error()));
  }
  if (!answer.empty()) document.number("last_update", context.now);
  view::DocumentOrigin origin = origin_of(is_of_accounts(answer));
  origin.errors = std::move(remarks.errors);
  origin.warnings = std::move(remarks.warnings);
  view::describe_origin(document, origin, context);
  document.finish();
  return Reply{.type = "application/json", .body = document.take()};
}

Reply slurm_error(std::string_view answer, int version, const Error& error, unsigned status) {
  constexpr int kErrorsAlone = 45;  // from then on they come without the empty records
  if (status == 401) return {.status = 401, .type = "text/plain", .body = "Authentication failure"};
  if (status == 400) status = 422;
  view::use_data_parser(version);
  Document document(view::DocumentFormat::kDenseJson, version < kErrorsAlone ? answer : "openapi_resp");
  view::DocumentOrigin origin = origin_of(is_of_accounts(answer));
  origin.errors.push_back(error);
  view::describe_origin(document, origin, DisplayContext());
  document.finish();
  return {.status = status, .type = "application/json", .body = document.take()};
}

std::span<const Route> slurmctld_routes() {
  return kRoutes;
}

std::span<const Route> slurm_routes() {
  static const std::vector<Route> all = [] {
    std::vector<Route> routes;
    for (const auto part : {slurmctld_routes(), slurm_change_routes(), slurmdbd_routes()})
      routes.insert(routes.end(), part.begin(), part.end());
    return routes;
  }();
  return all;
}

}  // namespace minke::portal
