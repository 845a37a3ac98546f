// What Slurm's pages of the controller change besides submitting and updating jobs, and the short list of
// states: /slurm/v0.0.N/node/NAME, reservation/NAME, jobs (DELETE), jobs/state.
#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "api/actions.pb.h"
#include "api/updates.pb.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "portal/desk.h"
#include "portal/slurm_answers.h"
#include "text/job_id.h"
#include "text/list.h"
#include "text/signal_name.h"
#include "view/document/answers.h"
#include "view/document/records.h"

namespace minke::portal {
namespace {

using nlohmann::json;
using view::DisplayContext;
using view::Document;

// What scontrol update calls a field of a node.
struct NodeField {
  const char* field;
  const char* name;
};
constexpr NodeField kNodeFields[] = {
    {"state", "State"},
    {"reason", "Reason"},
    {"comment", "Comment"},
    {"extra", "Extra"},
    {"gres", "Gres"},
    {"weight", "Weight"},
    {"features", "AvailableFeatures"},
    {"features_act", "ActiveFeatures"},
    {"address", "NodeAddr"},
    {"hostname", "NodeHostName"},
    {"resume_after", "ResumeAfter"},
};

// The text of "a", 7, ["a", "b"] and {"set": true, "number": 7}; none: nothing is set.
std::optional<std::string> value_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return std::to_string(value.get<int64_t>());
  if (value.is_object() && value.contains("number") && value["number"].is_number_integer())
    return value.contains("set") && value["set"] == false
               ? std::nullopt
               : std::optional(std::to_string(value["number"].get<int64_t>()));
  if (!value.is_array() || value.empty()) return std::nullopt;
  std::string list;
  for (const json& one : value)
    if (one.is_string()) list += (list.empty() ? "" : ",") + one.get<std::string>();
  return list;
}

// A page without records: what went wrong, or nothing.
Result<Reply> outcome_page(Call& call, const Result<api::ActionReply>& done,
                           std::vector<std::string> warnings = {}) {
  const int version = static_cast<int>(call.number("version"));
  if (!done) return slurm_error("openapi_resp", version, done.error(), status_of(done.error()));
  if (done->failures_size() > 0) {
    const auto& first = done->failures(0);
    const int code = static_cast<int>(first.code());
    return slurm_error(
        "openapi_resp", version,
        Error{code, first.message().empty() ? std::string(model::slurm_error_text(code)) : first.message()},
        status_of(Error{code, ""}));
  }
  return slurm_page(call, {}, [&](Document&, DisplayContext&, Remarks& remarks) -> Status {
    remarks.warnings = std::move(warnings);
    return {};
  });
}

Result<Reply> update_node(Call& call) {
  const int version = static_cast<int>(call.number("version"));
  const auto refused = [&](const char* why) {
    return slurm_error("openapi_resp", version, Error{EINVAL, why}, 422);
  };
  const json body = json::parse(call.body, nullptr, false);
  if (!body.is_object()) return refused("Rejecting list when dictionary expected");
  api::UpdateNodeRequest request;
  request.set_node_list(call.text("name"));
  std::vector<std::string> warnings;
  for (const auto& [name, member] : body.items()) {
    const auto row = std::find_if(std::begin(kNodeFields), std::end(kNodeFields),
                                  [&, &field = name](const NodeField& one) { return field == one.field; });
    const auto value = row == std::end(kNodeFields) ? std::nullopt : value_of(member);
    if (row == std::end(kNodeFields)) warnings.push_back("Ignoring unknown field \"" + name + "\"");
    if (!value) continue;
    api::Field& field = *request.add_fields();
    field.set_name(row->name);
    field.set_value(*value);
  }
  if (request.fields_size() == 0) return refused("nothing is to change");
  return outcome_page(call, call.cluster.update(request), std::move(warnings));
}

Result<Reply> delete_reservation(Call& call) {
  api::UpdateReservationRequest request;
  request.set_name(call.text("name"));
  request.set_change(api::DELETE);
  return outcome_page(call, call.cluster.update(request));
}

// The jobs of {"jobs": ["1", 2, "3_4"]}, each with its outcome.
Result<Reply> cancel_jobs(Call& call) {
  const int version = static_cast<int>(call.number("version"));
  const auto refused = [&](const std::string& why) {
    return slurm_error("openapi_resp", version, Error{EINVAL, why}, 422);
  };
  const json body = json::parse(call.body, nullptr, false);
  if (!body.is_object() || !body.contains("jobs") || !body["jobs"].is_array() || body["jobs"].empty())
    return refused("\"jobs\" must list the jobs that are to be cancelled");
  api::SignalRequest request;
  if (const auto word = body.contains("signal") ? value_of(body["signal"]) : std::nullopt) {
    const auto signal = text::parse_signal(*word);
    if (!signal) return refused("Unknown job signal: " + *word);
    request.set_signal(*signal);
  }
  for (const json& one : body["jobs"]) {
    const auto word = value_of(one);
    const auto job = word ? text::parse_job_id(*word) : Result<text::JobReference>(failure("Invalid job id"));
    if (!job || job->step) return refused("Invalid job id: " + word.value_or(one.dump()));
    *request.mutable_filter()->add_jobs() = engine::selector_of(*job);
  }
  const auto done = call.cluster.signal(request);
  call.desk.queue().outdate();
  if (!done) return slurm_error("openapi_resp", version, done.error(), status_of(done.error()));
  return slurm_page(call, {}, [&](Document& document, DisplayContext&, Remarks&) -> Status {
    document.begin_array("status");
    for (const api::ActionReply::Failure& one : done->failures()) {
      document.begin_object();
      document.begin_object("error");
      document.text("string", model::slurm_error_text(static_cast<int>(one.code())));
      document.integer("code", one.code());
      document.text("message", one.message());
      document.end();
      document.text("step_id", one.job());
      document.number("job_id", one.job_id());
      document.end();
    }
    document.end();
    return {};
  });
}

Result<Reply> states_page(Call& call) {
  return slurm_page(call, view::answer::kJobStates,
                    [&](Document& document, DisplayContext& context, Remarks&) -> Status {
                      api::JobFilter filter;
                      filter.set_all_states(true);
                      for (const std::string& word : text::split_list(call.text("job_id"))) {
                        const auto job = text::parse_job_id(word);
                        if (!job || job->step)
                          return failure("Invalid job id: " + word, model::kInvalidJobId);
                        *filter.add_jobs() = engine::selector_of(*job);
                      }
                      const auto jobs = engine::fetch_jobs(call.cluster, std::move(filter), false, true);
                      if (!jobs) return failure(jobs.error());
                      context.now = jobs->now;
                      document.begin_array("jobs");
                      for (const model::JobRecord* job : jobs->records)
                        view::describe_job_state(document, *job, nullptr, context);
                      document.end();
                      return {};
                    });
}

constexpr Parameter kStates[] = {{"job_id", "CSV list of jobs", Kind::kText, In::kQuery, 0, 65536}};

constexpr Route change(std::string_view method, std::string_view path, std::string_view is, Answering answer,
                       bool takes_body) {
  return {method, path, Who::kVisitor, is, answer, "openapi_resp", {}, true, takes_body};
}
constexpr Route kRoutes[] = {
    {"GET", "/slurm/v0.0.{version}/jobs/state", Who::kVisitor, "get list of job states", states_page,
     view::answer::kJobStates, kStates, true},
    change("DELETE", "/slurm/v0.0.{version}/jobs", "send signal to list of jobs", cancel_jobs, true),
    change("POST", "/slurm/v0.0.{version}/node/{name}", "update node properties", update_node, true),
    change("DELETE", "/slurm/v0.0.{version}/reservation/{name}", "delete a reservation", delete_reservation,
           false),
};

}  // namespace

std::span<const Route> slurm_change_routes() {
  return kRoutes;
}

}  // namespace minke::portal
