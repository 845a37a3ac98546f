// Submitting over HTTP: /api/v1 with sbatch's own options, and slurmrestd's job/submit, whose fields are
// turned into those options by a table.
#include <algorithm>
#include <array>
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
#include "text/job_id.h"
#include "text/number.h"
#include "view/document/records.h"

namespace minke::portal {
namespace {

constexpr size_t kMostOptions = 200;

// How a field's value becomes an option's.
enum class As : uint8_t { kText, kNumber, kMinutes, kMebibytes, kTres, kGpus, kFlag, kMoment };
struct FieldOption {
  std::string_view field, option;
  As as = As::kText;
};
constexpr FieldOption kFields[] = {
    {"account", "account"},
    {"admin_comment", "admin-comment"},
    {"array", "array"},
    {"batch_features", "batch"},
    {"begin_time", "begin", As::kMoment},
    {"burst_buffer", "bb"},
    {"clusters", "clusters"},
    {"comment", "comment"},
    {"constraints", "constraint"},
    {"container", "container"},
    {"contiguous", "contiguous", As::kFlag},
    {"cores_per_socket", "cores-per-socket", As::kNumber},
    {"cpu_frequency", "cpu-freq"},
    {"cpus_per_task", "cpus-per-task", As::kNumber},
    {"current_working_directory", "chdir"},
    {"deadline", "deadline", As::kMoment},
    {"dependency", "dependency"},
    {"distribution", "distribution"},
    {"excluded_nodes", "exclude"},
    {"extra", "extra"},
    {"hold", "hold", As::kFlag},
    {"licenses", "licenses"},
    {"mail_type", "mail-type"},
    {"mail_user", "mail-user"},
    {"mcs_label", "mcs-label"},
    {"memory_per_cpu", "mem-per-cpu", As::kMebibytes},
    {"memory_per_node", "mem", As::kMebibytes},
    {"minimum_cpus_per_node", "mincpus", As::kNumber},
    {"name", "job-name"},
    {"nice", "nice", As::kNumber},
    {"nodes", "nodes"},
    {"overcommit", "overcommit", As::kFlag},
    {"partition", "partition"},
    {"prefer", "prefer"},
    {"priority", "priority", As::kNumber},
    {"qos", "qos"},
    {"required_nodes", "nodelist"},
    {"reservation", "reservation"},
    {"sockets_per_node", "sockets-per-node", As::kNumber},
    {"standard_error", "error"},
    {"standard_input", "input"},
    {"standard_output", "output"},
    {"tasks", "ntasks", As::kNumber},
    {"tasks_per_core", "ntasks-per-core", As::kNumber},
    {"tasks_per_node", "ntasks-per-node", As::kNumber},
    {"tasks_per_socket", "ntasks-per-socket", As::kNumber},
    {"temporary_disk_per_node", "tmp", As::kMebibytes},
    {"threads_per_core", "threads-per-core", As::kNumber},
    {"time_limit", "time", As::kMinutes},
    {"time_minimum", "time-min", As::kMinutes},
    {"tres_bind", "tres-bind"},
    {"tres_per_job", "gpus", As::kGpus},
    {"tres_per_node", "gres", As::kTres},
    {"tres_per_socket", "gpus-per-socket", As::kGpus},
    {"tres_per_task", "tres-per-task"},
    {"wckey", "wckey"},
};

// The number of 7, "7", or {"set": true, "number": 7}; none: unset.
std::optional<std::string> number_of(const Json& value) {
  if (value.is_number_integer()) return std::to_string(value.get<int64_t>());
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object() || !value.value("set", false)) return std::nullopt;
  if (value.value("infinite", false)) return "UNLIMITED";
  const auto number = value.find("number");
  return number != value.end() && number->is_number() ? std::optional(std::to_string(number->get<int64_t>()))
                                                      : std::nullopt;
}

// The text of "a,b" or ["a", "b"].
std::optional<std::string> text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return std::to_string(value.get<int64_t>());
  if (!value.is_array()) return std::nullopt;
  std::string list;
  for (const Json& one : value)
    if (one.is_string()) list += (list.empty() ? "" : ",") + one.get<std::string>();
  return list;
}

// "gres/gpu:a100:2,gres/shard:1" without "gres/"; with `gpus` also without "gpu:".
std::string tres_words(std::string_view list, bool gpus) {
  std::string words;
  for (std::string_view one : text::split(list, ',')) {
    for (const std::string_view prefix : {"gres/", "gres:"})
      if (one.starts_with(prefix)) one.remove_prefix(prefix.size());
    if (gpus && one.starts_with("gpu")) one.remove_prefix(std::min<size_t>(one.size(), 4));
    words += (words.empty() ? "" : ",") + std::string(one);
  }
  return words;
}

std::optional<std::string> option_value(const FieldOption& row, const Json& value) {
  switch (row.as) {
    case As::kNumber:
    case As::kMinutes:
      return number_of(value);
    case As::kMoment: {
      const auto seconds = number_of(value);
      return !seconds || *seconds == "0" ? std::nullopt : std::optional("uts" + *seconds);
    }
    case As::kMebibytes: {
      const auto number = number_of(value);
      return number && text::parse_unsigned(*number) ? std::optional(*number + "M") : number;
    }
    case As::kTres:
    case As::kGpus: {
      const auto list = text_of(value);
      return list ? std::optional(tres_words(*list, row.as == As::kGpus)) : std::nullopt;
    }
    default:
      return text_of(value);
  }
}

struct Read {
  Submission submission;
  std::vector<std::string> warnings;
};

void read_field(const std::string& name, const Json& value, Read& read) {
  std::vector<std::string>& options = read.submission.options;
  if (value.is_null() || name == "script" || name == "environment" || name == "argv") return;
  if (name == "requeue" && value.is_boolean()) {
    options.emplace_back(value.get<bool>() ? "--requeue" : "--no-requeue");
    return;
  }
  const auto row = std::find_if(std::begin(kFields), std::end(kFields),
                                [&](const auto& one) { return one.field == name; });
  if (row == std::end(kFields)) {
    read.warnings.push_back("Ignoring unknown field \"" + name + "\"");
    return;
  }
  const std::string option = "--" + std::string(row->option);
  if (row->as == As::kFlag) {
    if (value.is_boolean() && value.get<bool>()) options.push_back(option);
    return;
  }
  if (const auto text = option_value(*row, value); text && !text->empty())
    options.push_back(option + "=" + *text);
}

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
  for (const auto& [name, member] : job.items()) read_field(name, member, read);
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
