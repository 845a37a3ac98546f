#include "cli/scontrol/commands.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>
#include <variant>

#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "api/updates.pb.h"
#include "base/version.h"
#include "cli/scontrol/job_words.h"
#include "cli/scontrol/resize_scripts.h"
#include "cli/scontrol/update.h"
#include "cli/srun/launch_environment.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "os/fd.h"
#include "text/job_id.h"
#include "text/number.h"
#include "view/output.h"
#include "view/text.h"

namespace minke::cli {
namespace {

std::string suspend_error() {
  return spoken_release() < kSlurm26 ? "slurm_suspend error: " : "slurm_suspend error:";
}

// Whether `word` abbreviates `keyword`, in any case and with at least `enough` letters of it.
bool is_keyword(std::string_view word, std::string_view keyword, size_t enough) {
  return word.size() >= enough && text::starts_with_ignoring_case(keyword, word);
}

using Selectors = google::protobuf::RepeatedPtrField<api::JobSelector>;

// Returns those of these jobs, and tasks of arrays, that have started and not ended.
Result<Selectors> running_of(engine::Engine& cluster, const Selectors& jobs) {
  api::JobFilter filter;
  *filter.mutable_jobs() = jobs;
  filter.add_states(model::JOB_RUNNING);
  filter.add_states(model::JOB_SUSPENDED);
  const auto found = engine::fetch_jobs(cluster, std::move(filter));
  if (!found) return failure(found.error());
  Selectors running;
  for (const model::JobRecord* job : found->records) {
    api::JobSelector& one = *running.Add();
    one.set_job_id(job->has_array_task_id() ? job->array_job_id() : job->job_id());
    if (!job->has_array_task_id()) continue;
    model::IndexRange& task = *one.add_tasks();
    task.set_first(job->array_task_id());
    task.set_last(job->array_task_id());
    task.set_step(1);
  }
  return running;
}

Result<api::ActionReply> ask_update(engine::Engine& cluster, const UpdateRequest& request) {
  return std::visit([&](const auto& one) { return cluster.update(one); }, request);
}

// jobname=NAME and name=NAME.
std::optional<std::string> name_of(const std::string& word) {
  for (std::string_view prefix : {"jobname=", "name="}) {
    if (text::starts_with_ignoring_case(word, prefix)) return word.substr(prefix.size());
  }
  return std::nullopt;
}

}  // namespace

int Scontrol::complain(const std::string& text) {
  if (!quiet_) std::fprintf(stderr, "%s\n", text.c_str());
  return 1;
}

engine::Engine* Scontrol::open_cluster() {
  if (!cluster_) {
    auto opened = engine::open();
    if (!opened) {
      complain("scontrol: error: " + opened.error().message);
      return nullptr;
    }
    cluster_ = std::move(*opened);
  }
  return cluster_.get();
}

view::DisplayContext Scontrol::context(int64_t now) {
  view::DisplayContext context = view::display_context_from_environment();
  context.now = now != 0 ? now : std::time(nullptr);
  return context;
}

int Scontrol::report(const api::ActionReply& reply, const char* summary) {
  std::string told;
  for (const api::ActionReply::Failure& failure : reply.failures()) {
    std::string job = failure.job().empty() ? std::to_string(failure.job_id()) : failure.job();
    // The components of one job may all fail alike.
    const std::string same = job + ":" + failure.message();
    if (std::exchange(told, same) == same) continue;
    // Slurm's words for the number, and ours for the details.
    const std::string_view words = model::slurm_error_text(static_cast<int>(failure.code()));
    if (words.empty() || words == failure.message()) {
      complain(failure.message() + " for job " + job);
    } else {
      complain(std::string(words) + " for job " + job + " (" + failure.message() + ")");
    }
  }
  if (reply.failures().empty()) return 0;
  if (summary == nullptr) return 1;
  const bool suspends = std::string_view(summary) == "slurm_suspend";
  complain((suspends ? suspend_error() : std::string(summary) + " error: ") +
           reply.failures().rbegin()->message());
  return 1;
}

int Scontrol::change_hold(const Words& words, api::HoldRequest::Kind kind) {
  int status = 0;
  api::HoldRequest request;
  request.set_kind(kind);
  for (size_t i = 1; i < words.size(); ++i) {
    if (const auto name = name_of(words[i])) {
      request.add_names(*name);
      continue;
    }
    auto references = parse_jobs(words[i]);
    if (!references) {
      const std::string invalid(model::slurm_error_text(model::kInvalidJobId));
      complain(invalid + " for job " + words[i]);
      status = complain(suspend_error() + invalid);
      continue;
    }
    for (const text::JobReference& job : *references) *request.add_jobs() = engine::selector_of(job);
  }
  if (request.jobs().empty() && request.names().empty()) return status;
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  const auto answer = cluster->hold(request);
  if (!answer) return complain(suspend_error() + answer.error().message);
  return std::max(status, report(*answer, "slurm_suspend"));
}

int Scontrol::requeue(const Words& words, bool hold) {
  int status = 0;
  api::RequeueRequest request;
  request.set_hold(hold);
  bool incomplete = false;
  for (size_t i = 1; i < words.size(); ++i) {
    if (text::starts_with_ignoring_case(words[i], "state=")) {
      const std::string state = words[i].substr(6);
      if (!text::equals_ignoring_case(state, "SpecialExit") && !text::equals_ignoring_case(state, "SE"))
        return complain("Invalid input: " + words[i]);
      request.set_special_exit(true);
      continue;
    }
    if (text::starts_with_ignoring_case("incomplete", words[i])) {
      incomplete = true;
      continue;
    }
    auto references = parse_jobs(words[i]);
    if (!references) {
      status = complain(std::string(model::slurm_error_text(model::kInvalidJobId)) + " for job " + words[i]);
      continue;
    }
    for (const text::JobReference& job : *references) *request.add_jobs() = engine::selector_of(job);
  }
  if (request.jobs().empty()) return status;
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  if (incomplete) {
    const auto running = running_of(*cluster, request.jobs());
    if (!running) return complain("slurm_requeue error: " + running.error().message);
    if (running->empty()) return status;
    *request.mutable_jobs() = *running;
  }
  const auto answer = cluster->requeue(request);
  if (!answer) return complain("slurm_requeue error: " + answer.error().message);
  return std::max(status, report(*answer, nullptr));
}

int Scontrol::update_reservation(const api::UpdateReservationRequest& request) {
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  const auto answer = cluster->update(request);
  if (!answer)
    return complain("Error updating the reservation: " + answer.error().message +
                    "\nslurm_update error: " + answer.error().message);
  view::write_out("Reservation updated.\n");
  return 0;
}

int Scontrol::update(const Words& words) {
  const Words arguments(words.begin() + 1, words.end());
  if (names_reservation(arguments)) {
    auto request = parse_reservation(arguments, api::UPDATE);
    return request ? update_reservation(*request) : complain(request.error().message);
  }
  auto requests = parse_update(Words(words.begin() + 1, words.end()));
  if (!requests) return complain(requests.error().message);
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  int status = 0;
  for (size_t i = 0; i < requests->updates.size(); ++i) {
    const auto* of_job = std::get_if<api::UpdateJobRequest>(&requests->updates[i]);
    if (of_job != nullptr && !of_job->name().empty()) {
      api::JobFilter filter;
      filter.add_names(requests->names[i]);
      if (requests->uid) filter.add_uids(*requests->uid);
      const auto jobs = engine::fetch_jobs(*cluster, filter);
      const std::string user = requests->uid ? "user ID " + std::to_string(*requests->uid) + " and " : "";
      if (jobs && jobs->records.empty())
        return complain("scontrol: error: No jobs with " + user + "name '" + requests->names[i] + "'");
    }
    const auto answer = ask_update(*cluster, requests->updates[i]);
    if (answer) {
      const int reported = report(*answer, nullptr);
      status = std::max(status, reported);
      if (reported == 0 && of_job != nullptr && changes_nodes(*of_job))
        write_resize_scripts(*cluster, requests->names[i]);
    } else if (of_job != nullptr) {
      status = complain(answer.error().message + " for job " + requests->names[i]);
    } else {
      status = complain("slurm_update error: " + answer.error().message);
    }
  }
  return status;
}

int Scontrol::create(const Words& words) {
  if (words.size() > 1 && names_nodes(words[1])) return create_nodes(words);
  auto request = parse_creation(Words(words.begin() + 1, words.end()));
  if (!request) return complain(request.error().message);
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  const bool of_reservation = std::holds_alternative<api::UpdateReservationRequest>(*request);
  const auto answer = ask_update(*cluster, *request);
  if (!of_reservation)
    return answer ? 0 : complain("Error creating the partition: " + answer.error().message);
  if (answer) {
    view::write_out("Reservation created: " + answer->created() + "\n");
    return 0;
  }
  std::string text = "Error creating the reservation: " + answer.error().message;
  if (answer.error().code == model::kNodesBusy) {
    text +=
        "\nNote, unless nodes are directly requested a reservation must exist in a single partition.\n"
        "If no partition is requested the default partition is assumed.";
  }
  return complain(text);
}

int Scontrol::remove(const Words& words) {
  if (words.size() < 2) return complain("too few arguments for delete keyword");
  if (words.size() > 3) return complain("too many arguments for keyword:" + words[0]);
  // "delete ENTITY=ID" or "delete ENTITY ID".
  std::string named = words[1];
  if (words.size() == 3) {
    if (named.find('=') != std::string::npos) return complain("Invalid deletion entity: " + named);
    named += "=" + words[2];
  }
  if (named.find('=') == std::string::npos)
    return complain("scontrol: error: Proper format is 'delete <ENTITY>=<ID>' or 'delete <ENTITY> <ID>'");
  if (names_nodes(named)) return remove_nodes(named, words[1]);
  auto request = parse_deletion({named});
  if (!request) return complain(request.error().message);
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  const bool of_reservation = std::holds_alternative<api::UpdateReservationRequest>(*request);
  const auto answer = ask_update(*cluster, *request);
  const std::string what = of_reservation ? "delete_reservation " : "delete_partition ";
  if (!answer) return complain(what + named + ": " + answer.error().message);
  return 0;
}

int Scontrol::ping() {
  const auto cluster = engine::open();
  view::write_out("Slurmctld(primary) at " + host_name() + " is " + (cluster ? "UP" : "DOWN") + "\n");
  return cluster ? 0 : 1;
}

int Scontrol::reconfigure() {
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  const auto fail = [&](const Error& error) { return complain("slurm_reconfigure error: " + error.message); };
  const auto administration = cluster->administration();
  if (!administration) return fail(administration.error());
  const auto answer = (*administration)->reconfigure();
  if (!answer) return fail(answer.error());
  return 0;
}

int Scontrol::wait_job(const std::string& id) {
  auto job = text::parse_job_id(id);
  if (!job) return complain("scontrol: Problem running job " + id);
  engine::Engine* cluster = open_cluster();
  if (cluster == nullptr) return 1;
  api::WaitJobRequest request;
  request.set_job_id(job->job_id);
  request.set_until(api::WaitJobRequest::STARTED);
  model::JobState state = model::JOB_PENDING;
  const Status status = cluster->wait(request, [&](api::WaitJobReply& reply) -> Status {
    state = reply.job().state();
    return {};
  });
  if (!status) return complain("scontrol: Problem running job " + id);
  if (view::is_finished(state)) return complain("scontrol: Job " + id + " no longer running");
  if (!quiet_) std::fprintf(stderr, "scontrol: Nodes are ready for job %s\n", id.c_str());
  return 0;
}

int Scontrol::write(const Words& words) {
  if (is_keyword(words[1], "batch_script", 5)) return write_script(words);
  if (!is_keyword(words[1], "config", 5)) return complain("invalid write argument:" + words[1]);
  if (words.size() > 3) return complain("too many arguments for keyword:write config");
  return write_configuration(words.size() > 2 ? words[2] : "");
}

Status Scontrol::save(const std::string& path, const std::string& text, mode_t mode) {
  os::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (!file) return failure("failed to open file `" + path + "': " + std::strerror(errno));
  for (size_t written = 0; written < text.size();) {
    ssize_t more = ::write(file.get(), text.data() + written, text.size() - written);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return failure("failed to write file `" + path + "': " + std::strerror(errno));
    written += static_cast<size_t>(more);
  }
  return {};
}

int Scontrol::write_script(const Words& words) {
  if (words.size() < 3) return complain("too few arguments for keyword:write batch_script");
  if (words.size() > 4) return complain("too many arguments for keyword:write batch_script");
  auto job = text::parse_job_id(words[2]);
  engine::Engine* cluster = job ? open_cluster() : nullptr;
  if (job && cluster == nullptr) return 1;
  const auto script =
      job ? cluster->script(job->job_id)
          : failure(std::string(model::slurm_error_text(model::kInvalidJobId)), model::kInvalidJobId);
  if (!script) return complain("job script retrieval failed: " + script.error().message);
  if (words.size() == 4 && words[3] == "-") {
    view::write_bytes(*script + (script->ends_with('\n') ? "" : "\n"));
    return 0;
  }
  std::string path = words.size() == 4 ? words[3] : "slurm-" + words[2] + ".sh";
  if (const Status saved = save(path, *script, 0700); !saved) return complain(saved.error().message);
  if (!quiet_) view::write_out("batch script for job " + words[2] + " written to " + path + "\n");
  return 0;
}

}  // namespace minke::cli
