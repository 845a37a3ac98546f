// Submitting over HTTP: /api/v1 with sbatch's own options, and slurmrestd's job/submit, whose fields are
// turned into those options by a table.
#include <algorithm>
#include <cerrno>

#include "api/actions.pb.h"
#include "api/field.pb.h"
#include "api/updates.pb.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "model/error.h"
#include "portal/desk.h"
#include "portal/job_answers.h"
#include "portal/job_json.h"
#include "portal/slurm_answers.h"
#include "portal/submission.h"
#include "portal/submitted_fields.h"
#include "text/job_id.h"
#include "view/document/records.h"

namespace minke::portal {
namespace {

constexpr size_t kMostOptions = 200;

struct Read {
  Submission submission;
  std::vector<std::string> warnings;
};

void read_environment(const Json& given, Submission& submission) {
  auto& environment = submission.environment.emplace();
  if (given.is_array()) {
    for (const Json& one : given)
      if (one.is_string() && one.get_ref<const std::string&>().find('\0') == std::string::npos)
        environment.push_back(one.get<std::string>());
  } else if (given.is_object()) {
    for (const auto& [name, value] : given.items())
      if (value.is_string()) environment.push_back(name + "=" + value.get<std::string>());
  }
}

Result<Read> read_slurm_body(const std::string& body) {
  const Json value = Json::parse(body, nullptr, false);
  if (value.is_discarded()) return failure("Failure during parsing", EINVAL);
  if (!value.is_object()) return failure("Rejecting list when dictionary expected", EINVAL);
  Read read;
  const Json job = value.value("job", Json::object());
  if (!job.is_object()) return failure("\"job\" is no dictionary", EINVAL);
  for (const Json* part : {&value, &job})
    if (part->contains("script") && (*part)["script"].is_string())
      read.submission.script = (*part)["script"].get<std::string>();
  if (read.submission.script.empty())
    return failure("Populated \"script\" field is required for job submission", EINVAL);
  if (!job.contains("current_working_directory"))
    return failure("Job cannot be submitted without the current working directory specified.", 2063);
  read.submission.options = submitted_options(job, read.warnings);
  if (job.contains("environment")) read_environment(job["environment"], read.submission);
  return read;
}

// What scontrol update calls it.
constexpr FieldOption kChanges[] = {
    {"account", "Account"},
    {"admin_comment", "AdminComment"},
    {"begin_time", "StartTime", As::kMoment},
    {"comment", "Comment"},
    {"constraints", "Features"},
    {"deadline", "Deadline", As::kMoment},
    {"dependency", "Dependency"},
    {"excluded_nodes", "ExcNodeList"},
    {"extra", "Extra"},
    {"licenses", "Licenses"},
    {"mail_type", "MailType"},
    {"mail_user", "MailUser"},
    {"name", "JobName"},
    {"nice", "Nice", As::kNumber},
    {"nodes", "NumNodes"},
    {"partition", "Partition"},
    {"priority", "Priority", As::kNumber},
    {"qos", "QOS"},
    {"required_nodes", "ReqNodeList"},
    {"reservation", "ReservationName"},
    {"standard_error", "StdErr"},
    {"standard_output", "StdOut"},
    {"tasks", "NumTasks", As::kNumber},
    {"time_limit", "TimeLimit", As::kMinutes},
    {"time_minimum", "TimeMin", As::kMinutes},
    {"wckey", "WCKey"},
};

// Adds the fields that a body changes; returns warnings of those that cannot be.
Result<std::vector<std::string>> read_changes(const std::string& body, api::UpdateJobRequest& request) {
  const Json value = Json::parse(body, nullptr, false);
  if (!value.is_object()) return failure("Rejecting list when dictionary expected", EINVAL);
  std::vector<std::string> warnings;
  for (const auto& [name, member] : value.items()) {
    const auto row = std::find_if(std::begin(kChanges), std::end(kChanges),
                                  [&, &field = name](const auto& one) { return one.field == field; });
    const auto text = row == std::end(kChanges) ? std::nullopt : option_value(*row, member);
    if (row == std::end(kChanges)) {
      warnings.push_back("Ignoring unknown field \"" + name + "\"");
    } else if (text) {
      api::Field& field = *request.add_fields();
      field.set_name(std::string(row->option));
      field.set_value(*text);
    }
  }
  if (request.fields_size() == 0) return failure("nothing is to change", EINVAL);
  return warnings;
}

}  // namespace

Result<Reply> submit_as_slurm(Call& call) {
  const auto refused = [&](const Error& error) {
    return slurm_error("openapi_resp", static_cast<int>(call.number("version")), error, 422);
  };
  auto read = read_slurm_body(call.body);
  if (!read) return refused(read.error());
  const auto submitted = submit(read->submission);
  if (!submitted) return refused(submitted.error());
  call.desk.queue().outdate();
  return slurm_page(call, {},
                    [&](view::Document& document, view::DisplayContext&, Remarks& remarks) -> Status {
                      remarks.warnings = read->warnings;
                      document.integer("job_id", submitted->job_id);
                      document.text("step_id", "batch");
                      document.text("job_submit_user_msg", submitted->notes);
                      return {};
                    });
}

Result<Reply> update_as_slurm(Call& call) {
  const int version = static_cast<int>(call.number("version"));
  const auto wanted = text::parse_job_id(call.text("job"));
  if (!wanted) return failure(wanted.error());
  api::UpdateJobRequest request;
  *request.mutable_job() = engine::selector_of(*wanted);
  const auto warnings = read_changes(call.body, request);
  if (!warnings) return slurm_error("openapi_resp", version, warnings.error(), 422);
  const auto done = call.cluster.update(request);
  call.desk.queue().outdate();
  if (!done) return slurm_error("openapi_resp", version, done.error(), 422);
  return slurm_page(call, {},
                    [&](view::Document& document, view::DisplayContext&, Remarks& remarks) -> Status {
                      remarks.warnings = *warnings;
                      document.begin_array("results");
                      for (const api::ActionReply::Failure& one : done->failures()) {
                        document.begin_object();
                        document.integer("job_id", one.job_id());
                        document.text("step_id", one.job());
                        document.text("error", model::slurm_error_text(static_cast<int>(one.code())));
                        document.integer("error_code", one.code());
                        document.text("why", one.message());
                        document.end();
                      }
                      document.end();
                      return {};
                    });
}

// {"script": "…", "options": ["--time=10"], "test": true}
Result<Reply> submit_job(Call& call) {
  const Json value = Json::parse(call.body, nullptr, false);
  const auto bad = [](const char* what) { return failure(what, EINVAL); };
  if (!value.is_object()) return bad("the body is no JSON object");
  Submission submission;
  for (const auto& [name, member] : value.items()) {
    if (name == "script" && member.is_string())
      submission.script = member.get<std::string>();
    else if (name == "test" && member.is_boolean())
      submission.only_test = member.get<bool>();
    else if (name == "options" && member.is_array() && member.size() <= kMostOptions) {
      for (const Json& one : member) {
        if (!one.is_string() || !one.get_ref<const std::string&>().starts_with("--"))
          return bad("an option is none of sbatch's: it begins with --");
        submission.options.push_back(one.get<std::string>());
      }
    } else {
      return bad("the body has a member that is none of script, options, test, or of another type");
    }
  }
  if (submission.script.empty()) return bad("there is no script");
  const auto submitted = submit(submission);
  if (!submitted) return failure(submitted.error());
  call.desk.queue().outdate();
  return json_reply({{"job_id", submitted->job_id}, {"notes", submitted->notes}});
}

}  // namespace minke::portal
