// scontrol's commands on running jobs (suspend, resume, top, notify, listpids, completing) and on the daemon
// (shutdown), and those of Slurm that need only an answer.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>

#include "api/actions.pb.h"
#include "api/daemon.pb.h"
#include "api/job_filter.pb.h"
#include "api/machine.pb.h"
#include "api/step_usage.pb.h"
#include "cli/scontrol/commands.h"
#include "cli/scontrol/job_words.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/cluster.pb.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/step_record.pb.h"
#include "text/job_id.h"
#include "text/licenses.h"
#include "text/number.h"
#include "text/state.h"
#include "view/output.h"
#include "view/text.h"

namespace minke::cli {
namespace {

std::string invalid_job_id() {
  return std::string(model::slurm_error_text(model::kInvalidJobId));
}

bool is_debug_level(const std::string& word) {
  if (const auto number = text::parse_unsigned(word, 9)) return true;
  for (std::string_view level :
       {"quiet", "fatal", "error", "info", "verbose", "debug", "debug2", "debug3", "debug4", "debug5"}) {
    if (text::equals_ignoring_case(word, level)) return true;
  }
  return false;
}

}  // namespace

int Scontrol::tell_process(const Words& words) {
  if (words.size() == 2) return show_job_of_process(words[1]);
  return complain((words.size() == 1 ? "missing" : "too many") + std::string(" argument for keyword:") +
                  words[0]);
}

int Scontrol::tell_error(const std::string& number) {
  const auto code = text::parse_unsigned(number, 1 << 20);
  if (!code) return complain("number expected: " + number);
  const std::string_view known = model::slurm_error_text(static_cast<int>(*code));
  // The system's own numbers are below all of Slurm's.
  constexpr uint64_t kLeastOfSlurm = 1000;
  const std::string own =
      *code < kLeastOfSlurm ? std::generic_category().message(static_cast<int>(*code)) : "";
  view::write_out((!known.empty() ? std::string(known)
                   : !own.empty() ? own
                                  : "Unknown error " + number) +
                  "\n");
  return 0;
}

// The log level cannot be set: the daemon already logs everything that one could ask for.
int Scontrol::set_debug(const std::string& level) {
  return is_debug_level(level) ? 0 : complain("invalid debug level: " + level);
}

int Scontrol::suspend(const Words& words, bool resume) {
  int status = 0;
  for (size_t i = 1; i < words.size(); ++i) {
    const auto references = parse_jobs(words[i]);
    if (!references) {
      status = complain(invalid_job_id() + " for job " + words[i]);
      continue;
    }
    api::SuspendRequest request;
    request.set_resume(resume);
    for (const text::JobReference& job : *references) *request.add_jobs() = engine::selector_of(job);
    engine::Engine* cluster = open_cluster();
    if (cluster == nullptr) return 1;
    const auto answer = cluster->suspend(request);
    if (!answer) return complain(answer.error().message + " for job " + words[i]);
    status = std::max(status, report(*answer, nullptr));
  }
  return status;
}

int Scontrol::top(const Words& words) {
  const auto references = parse_jobs(words[1]);
  if (!references || references->empty()) return complain(invalid_job_id() + " for job " + words[1]);
  api::TopRequest request;
  for (const text::JobReference& job : *references) *request.add_jobs() = engine::selector_of(job);
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  const auto answer = cluster->top(request);
  if (!answer) return complain(answer.error().message + " for job " + words[1]);
  return report(*answer, nullptr);
}

int Scontrol::notify(const Words& words) {
  const auto reference = text::parse_job_id(words[1]);
  if (!reference) return complain("invalid job id: " + words[1]);
  std::string text;
  for (size_t i = 2; i < words.size(); ++i) text += (i > 2 ? " " : "") + words[i];
  api::NotifyRequest request;
  *request.mutable_job() = engine::selector_of(*reference);
  request.set_message(text);
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  const auto answer = cluster->notify(request);
  const std::string* problem = nullptr;
  if (!answer) problem = &answer.error().message;
  if (answer && !answer->failures().empty()) problem = &answer->failures(0).message();
  return problem == nullptr ? 0 : complain("job notify failure: " + *problem);
}

int Scontrol::list_processes(const std::string& id) {
  view::write_out("PID      JOBID    STEPID   LOCALID GLOBALID\n");
  api::QueryPidsRequest query;
  std::optional<text::JobReference> wanted;
  if (id != "*") {
    const auto reference = text::parse_job_id(id);
    if (!reference) return complain("scontrol: error: Invalid job id: " + id);
    wanted = *reference;
    *query.mutable_filter()->add_jobs() = engine::selector_of(*wanted);
    if (wanted->step) {
      query.set_batch_only(wanted->step->kind == model::STEP_BATCH);
      if (wanted->step->kind == model::STEP_NORMAL) query.set_step_id(wanted->step->step_id);
    }
  }
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  const auto measurements = cluster->measurements();
  if (!measurements) return complain("scontrol: error: " + measurements.error().message);
  const auto answer = (*measurements)->pids(query);
  if (!answer) return complain("scontrol: error: " + answer.error().message);
  if (answer->processes().empty() && wanted)
    return complain((wanted->step ? "StepId=" : "JobId=") + id + " does not exist on node (null).");
  std::string out;
  for (const api::PidsReply::Process& process : answer->processes()) {
    const auto number = [](bool known, uint32_t value) { return known ? std::to_string(value) : "-"; };
    fmt::format_to(std::back_inserter(out), "{:<8} {:<8} {:<8} {:<7} {:<8}\n", process.pid(),
                   process.job_id(), text::step_name(process.kind(), process.step_id()),
                   number(process.has_local_id(), process.local_id()),
                   number(process.has_global_id(), process.global_id()));
  }
  view::write_out(out);
  return 0;
}

int Scontrol::show_job_of_process(const std::string& pid) {
  const auto wanted = text::parse_unsigned(pid, 0x7fffffff);
  const auto fail = [&] { return complain("Failed to locate job for requested pid"); };
  if (!wanted) return fail();
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  const auto measurements = cluster->measurements();
  if (!measurements) return fail();
  const auto answer = (*measurements)->pids(api::QueryPidsRequest());
  if (!answer) return fail();
  for (const api::PidsReply::Process& process : answer->processes()) {
    if (process.pid() != *wanted) continue;
    api::JobFilter filter;
    filter.add_jobs()->set_job_id(process.job_id());
    const auto jobs = engine::fetch_jobs(*cluster, filter);
    if (!jobs || jobs->records.empty()) break;
    const auto ends = static_cast<std::time_t>(jobs->records.front()->end_time());
    char text[64] = "";
    ::ctime_r(&ends, text);
    view::write_out("Slurm JobId=" + std::to_string(process.job_id()) + " ends at " + text);
    view::write_out("Job remaining time is " + std::to_string(ends - jobs->now) + " seconds\n");
    return 0;
  }
  return fail();
}

int Scontrol::show_completing() {
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  const auto jobs = engine::fetch_jobs(*cluster, api::JobFilter());
  if (!jobs) return complain("slurm_load_jobs error: " + jobs.error().message);
  std::string out;
  for (const model::JobRecord* job : jobs->records) {
    if (!job->completing()) continue;
    std::string ended;
    view::append_time(ended, job->end_time(), context(jobs->now), "Unknown");
    fmt::format_to(std::back_inserter(out),
                   "JobId={} EndTime={} CompletingTime=00:00:00 Nodes(COMPLETING)={}\n",
                   text::format_job_id(*job), ended, job->node_list());
  }
  view::write_out(out);
  return 0;
}

int Scontrol::shut_down(const Words& words) {
  if (words.size() > 1 && words[1] != "slurmctld" && words[1] != "controller")
    return complain("invalid shutdown argument:" + words[1] + " (write scontrol shutdown, or minke down)");
  const auto fail = [&](const Error& error) { return complain("slurm_shutdown error: " + error.message); };
  const auto cluster = engine::open(engine::Start::kNever);
  if (!cluster) return fail(cluster.error());
  const auto administration = (*cluster)->administration();
  if (!administration) return fail(administration.error());
  api::ShutdownRequest request;
  request.set_mode(api::ShutdownRequest::KEEP_JOBS);
  const auto answer = (*administration)->shut_down(request);
  return answer ? 0 : fail(answer.error());
}

int Scontrol::show_licenses(const std::string& name) {
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  const auto answer = cluster->licenses();
  if (!answer) return complain("slurm_load_licenses error: " + answer.error().message);
  const auto& licenses = answer->licenses();
  const auto reservations = cluster->reservations();
  if (!reservations) return complain("slurm_load_licenses error: " + reservations.error().message);
  const auto reserved = [&](const std::string& license) {
    uint64_t sum = 0;
    const int64_t now = reservations->now();
    for (const model::ReservationRecord& one : reservations->reservations()) {
      const auto held = text::parse_licenses(one.licenses());
      if (!held || one.start_time() > now || one.end_time() <= now) continue;
      for (const auto& [held_name, count] : *held) sum += held_name == license ? count : 0;
    }
    return sum;
  };
  std::string out;
  if (licenses.empty() && name.empty()) out = "No licenses configured in Slurm.\n";
  for (const api::License& license : licenses) {
    if (!name.empty() && license.name() != name) continue;
    const uint32_t free = license.total() - std::min(license.total(), license.used());
    fmt::format_to(std::back_inserter(out),
                   "LicenseName={}{}Total={} Used={} Free={} Reserved={} Remote={}\n", license.name(),
                   options_.one_line ? " " : "\n    ", license.total(), license.used(), free,
                   reserved(license.name()), license.name().find('@') == std::string::npos ? "no" : "yes");
  }
  if (out.empty()) return complain("scontrol: error: query \"" + name + "\" matched zero licenses.");
  view::write_out(out);
  return 0;
}

}  // namespace minke::cli
