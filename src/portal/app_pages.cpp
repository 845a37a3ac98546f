// Interactive applications: which there are, one's sessions, how one begins and ends.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "api/actions.pb.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "model/job_record.pb.h"
#include "os/this_program.h"
#include "portal/app_answers.h"
#include "portal/app_connection.h"
#include "portal/app_job.h"
#include "portal/app_kinds.h"
#include "portal/app_sessions.h"
#include "portal/desk.h"
#include "portal/submission.h"
#include "text/job_id.h"
#include "view/text.h"

namespace minke::portal {
namespace {

constexpr std::chrono::seconds kFresh{1};
constexpr size_t kMostLive = 20;

Json field_json(const config::AppField& field) {
  constexpr const char* kWords[] = {"text", "number", "choice", "switch"};
  return {{"name", field.name},           {"label", field.label.empty() ? field.name : field.label},
          {"label_fr", field.label_fr},   {"help", field.help},
          {"help_fr", field.help_fr},     {"kind", kWords[static_cast<size_t>(field.kind)]},
          {"value", field.value},         {"choices", field.choices},
          {"least", field.least},         {"most", field.most},
          {"required", field.is_required}};
}

Json app_json(const config::AppSettings& app) {
  Json fields = Json::array();
  for (const config::AppField& field : app.fields) fields.push_back(field_json(field));
  return {{"name", app.name},
          {"title", app.title},
          {"title_fr", app.title_fr},
          {"description", app.description},
          {"description_fr", app.description_fr},
          {"time", app.time},
          {"cpus", app.cpus},
          {"memory", app.memory},
          {"gpus", app.gpus},
          {"modules", app.modules},
          {"fields", std::move(fields)}};
}

// The job of a session, if the cluster still has it in its queue: its number may be another's by now.
const model::JobRecord* job_of(const AppSession& session, const QueueNow& queue, uid_t uid) {
  const auto found = std::lower_bound(queue.jobs.begin(), queue.jobs.end(), session.job_id,
                                      [](const auto* job, uint32_t id) { return job->job_id() < id; });
  const bool is_it = session.job_id != 0 && found != queue.jobs.end() &&
                     (*found)->job_id() == session.job_id && (*found)->uid() == uid &&
                     view::job_name(**found) == session.app;
  return is_it ? *found : nullptr;
}

const char* state_of(const AppSession& session, const model::JobRecord* job) {
  if (job == nullptr || view::is_finished(job->state())) return "ended";
  if (job->state() == model::JOB_PENDING) return "waiting";
  return is_app_ready(session.key) ? "ready" : "starting";
}

Json session_json(const AppSession& session, const model::JobRecord* job, int64_t now) {
  const std::string state = state_of(session, job);
  const bool tells = state == "ended" || state == "starting";
  return {{"key", session.key},
          {"app", session.app},
          {"title", session.title},
          {"start", session.start},
          {"state", state},
          {"began", session.began},
          {"job_id", session.job_id},
          {"job", job == nullptr ? Json() : job_row(*job, now)},
          {"said", tells ? app_output(session.key) : std::string()}};
}

std::string own_host() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

}  // namespace

Result<Reply> list_apps(Call&) {
  const AppKinds kinds = all_apps();
  Json apps = Json::array();
  for (const config::AppSettings& app : kinds.apps) apps.push_back(app_json(app));
  return json_reply({{"apps", std::move(apps)}, {"problems", kinds.problems}});
}

Result<Reply> list_app_sessions(Call& call) {
  const std::vector<AppSession> sessions = app_sessions();
  Json list = Json::array();
  int64_t now = std::time(nullptr);
  if (!sessions.empty()) {
    const auto queue = call.desk.queue().get(call.cluster, kFresh);
    if (!queue) return failure(queue.error());
    now = (*queue)->now;
    for (const AppSession& one : sessions)
      list.push_back(session_json(one, job_of(one, **queue, call.desk.uid()), now));
  }
  return json_reply({{"now", now}, {"sessions", std::move(list)}});
}

// {"app": "jupyter", "time": "1:00:00", …, "fields": {…}}
Result<Reply> start_app(Call& call) {
  const Json asked = Json::parse(call.body, nullptr, false);
  if (!asked.is_object() || !asked.contains("app") || !asked["app"].is_string())
    return failure("the body is no object that names an app", EINVAL);
  for (const auto& [name, member] : asked.items()) {
    constexpr std::string_view kKnown[] = {"app",     "time",      "cpus",    "memory", "gpus",
                                           "account", "partition", "modules", "fields"};
    if (std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown))
      return failure("the body has an unknown member", EINVAL);
  }
  const AppKinds kinds = all_apps();
  const auto app = std::find_if(kinds.apps.begin(), kinds.apps.end(), [&](const auto& one) {
    return one.name == asked["app"].get_ref<const std::string&>();
  });
  if (app == kinds.apps.end()) return failure("there is no such application", ENOENT);
  const auto directory = app_sessions_directory();
  const auto program = os::this_program();
  if (!directory || !program) return failure((directory ? program : directory).error());
  const auto queue = call.desk.queue().get(call.cluster, kFresh);
  if (!queue) return failure(queue.error());
  const std::vector<AppSession> sessions = app_sessions();
  const auto live = std::count_if(sessions.begin(), sessions.end(), [&](const AppSession& one) {
    return std::string_view(state_of(one, job_of(one, **queue, call.desk.uid()))) != "ended";
  });
  if (static_cast<size_t>(live) >= kMostLive)
    return failure("20 of your applications run already: end one", EINVAL);
  // The form is read before anything is made.
  AppPlace place{*directory + "/", "/apps/", *program, own_host(), call.desk.is_shared()};
  if (const auto checked = app_job(*app, asked, place); !checked) return failure(checked.error());
  const auto key = make_app_session(*app, std::time(nullptr));
  if (!key) return failure(key.error());
  place.directory += *key;
  place.address += *key;
  const auto job = app_job(*app, asked, place);
  Submission submission;
  if (job) submission = {job->script, job->options, std::nullopt, false};
  const auto submitted = job ? submit(submission) : failure(job.error());
  call.desk.queue().outdate();
  Status kept = submitted ? set_app_job(*key, submitted->job_id) : Status(failure(submitted.error()));
  if (!kept) {
    forget_app_session(*key);
    return failure(kept.error());
  }
  return json_reply({{"key", *key}, {"job_id", submitted->job_id}, {"notes", submitted->notes}});
}

// One that runs or waits is cancelled; one that has ended is forgotten.
Result<Reply> end_app_session(Call& call) {
  const auto session = read_app_session(call.text("name"));
  if (!session) return failure(session.error());
  const auto queue = call.desk.queue().get(call.cluster, kFresh);
  if (!queue) return failure(queue.error());
  const model::JobRecord* job = job_of(*session, **queue, call.desk.uid());
  if (job == nullptr || view::is_finished(job->state())) {
    if (const Status forgotten = forget_app_session(session->key); !forgotten)
      return failure(forgotten.error());
    return json_reply({{"changed", 1}});
  }
  const auto named = text::parse_job_id(std::to_string(session->job_id));
  if (!named) return failure(named.error());
  api::SignalRequest request;
  *request.mutable_filter()->add_jobs() = engine::selector_of(*named);
  const auto done = call.cluster.signal(request);
  call.desk.queue().outdate();
  if (!done) return failure(done.error());
  return json_reply({{"changed", done->changed()}});
}

}  // namespace minke::portal
