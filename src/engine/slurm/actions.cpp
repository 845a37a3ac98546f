// SlurmEngine: what is done to jobs, each by the command of Slurm's that does it.
#include <cerrno>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "api/updates.pb.h"
#include "engine/slurm/slurm_engine.h"
#include "model/error.h"
#include "model/job_state.pb.h"
#include "text/job_id.h"
#include "text/state.h"

namespace minke::engine::slurm {
namespace {

using Words = std::vector<std::string>;

std::string id_of(const api::JobSelector& job) {
  text::JobReference reference;
  reference.job_id = job.job_id();
  *reference.tasks.mutable_ranges() = job.tasks();
  if (job.has_het_offset()) reference.het_offset = job.het_offset();
  return text::format_job_id(reference);
}

template <typename Jobs>
std::string ids_of(const Jobs& jobs) {
  std::string out;
  for (const api::JobSelector& job : jobs) out += (out.empty() ? "" : ",") + id_of(job);
  return out;
}

// "Name=value" as scontrol takes it: one argument, without a shell in between.
void add_fields(const google::protobuf::RepeatedPtrField<api::Field>& fields, Words& words) {
  for (const api::Field& one : fields) words.push_back(one.name() + "=" + one.value());
}

template <typename List>
void add_option(const char* name, const List& values, Words& words) {
  std::string list;
  for (const auto& value : values) list += (list.empty() ? "" : ",") + value;
  if (!list.empty()) words.push_back(name + list);
}

Words scancel_words(const api::SignalRequest& request) {
  const api::JobFilter& filter = request.filter();
  Words words = {"scancel"};
  if (request.signal() != 0) words.push_back("--signal=" + std::to_string(request.signal()));
  if (request.batch_only()) words.emplace_back("--batch");
  if (request.full()) words.emplace_back("--full");
  add_option("--account=", filter.accounts(), words);
  add_option("--name=", filter.names(), words);
  add_option("--partition=", filter.partitions(), words);
  add_option("--qos=", filter.qos(), words);
  add_option("--reservation=", filter.reservations(), words);
  add_option("--wckey=", filter.wckeys(), words);
  add_option("--nodelist=", filter.nodes(), words);
  add_option("--user=", filter.users(), words);
  for (const uint32_t uid : filter.uids()) words.push_back("--user=" + std::to_string(uid));
  for (const int state : filter.states())
    words.push_back("--state=" + std::string(text::job_state_name(static_cast<model::JobState>(state))));
  for (const api::JobSelector& job : filter.jobs())
    words.push_back(id_of(job) + (request.has_step_id() ? "." + std::to_string(request.step_id()) : ""));
  return words;
}

}  // namespace

namespace {

// "scontrol: Job is no longer pending for job 7": who says it, and of which job, the caller says itself.
std::string plain_words(std::string words) {
  for (const std::string_view name : {"scontrol: ", "scancel: "}) {
    if (words.starts_with(name)) words.erase(0, name.size());
  }
  const size_t of_job = words.rfind(" for job ");
  const bool ends_so =
      of_job != std::string::npos && words.find_first_not_of("0123456789_+", of_job + 9) == std::string::npos;
  return ends_so ? words.substr(0, of_job) : words;
}

}  // namespace

Result<api::ActionReply> SlurmEngine::act(Words words, uint32_t changed) {
  const auto said = programs_.text(std::move(words));
  for (const char* kind : {"jobs", "nodes", "usage"}) answers_.forget(kind);
  if (!said) return failure(Error{said.error().code, plain_words(said.error().message)});
  api::ActionReply reply;
  reply.set_changed(changed);
  return reply;
}

Result<api::ActionReply> SlurmEngine::signal(const api::SignalRequest& request) {
  Words words = scancel_words(request);
  // Without anything that names jobs it would be an error of usage there.
  if (words.size() == 1) return api::ActionReply();
  auto done = act(std::move(words), static_cast<uint32_t>(request.filter().jobs_size()));
  if (done || request.filter().jobs_size() != 1 || done.error().code == ECONNREFUSED) return done;
  api::ActionReply reply;
  api::ActionReply::Failure& failed = *reply.add_failures();
  failed.set_job_id(request.filter().jobs(0).job_id());
  failed.set_job(id_of(request.filter().jobs(0)));
  failed.set_code(static_cast<uint32_t>(done.error().code));
  failed.set_message(done.error().message);
  return reply;
}

Result<api::ActionReply> SlurmEngine::hold(const api::HoldRequest& request) {
  const char* verb = request.kind() == api::HoldRequest::RELEASE     ? "release"
                     : request.kind() == api::HoldRequest::USER_HOLD ? "uhold"
                                                                     : "hold";
  Words words = {"scontrol", verb};
  if (request.jobs_size() > 0) words.push_back(ids_of(request.jobs()));
  for (const std::string& name : request.names()) words.push_back("JobName=" + name);
  return act(std::move(words), static_cast<uint32_t>(request.jobs_size() + request.names_size()));
}

namespace {

constexpr size_t kMostAtOnce = 500;  // jobs that one command names

// What does not concern the command as a whole: a job of several has begun, or has ended.
bool is_of_one_job(const Error& error) {
  return error.code != ECONNREFUSED && error.code != EACCES && error.code != ETIMEDOUT &&
         error.code != ENOENT && error.code != model::kAccessDenied;
}

// One command for each so many of them.
template <typename Do>
Status for_all(const std::set<uint32_t>& jobs, const Do& act) {
  for (auto job = jobs.begin(); job != jobs.end();) {
    std::string ids;
    for (size_t i = 0; i < kMostAtOnce && job != jobs.end(); ++i, ++job)
      ids += (ids.empty() ? "" : ",") + std::to_string(*job);
    if (const auto done = act(ids); !done && !is_of_one_job(done.error())) return failure(done.error());
  }
  return {};
}

}  // namespace

Status SlurmEngine::hold_because(const std::set<uint32_t>& jobs, const std::string& why) {
  return for_all(jobs, [&](const std::string& ids) {
    return act({"scontrol", "update", "JobId=" + ids, "Priority=0", "AdminComment=" + why}, 0);
  });
}

Status SlurmEngine::release_again(const std::set<uint32_t>& jobs) {
  const Status told = for_all(jobs, [&](const std::string& ids) {
    return act({"scontrol", "update", "JobId=" + ids, "AdminComment="}, 0);
  });
  if (!told) return told;
  return for_all(jobs, [&](const std::string& ids) { return act({"scontrol", "release", ids}, 0); });
}

Result<api::ActionReply> SlurmEngine::requeue(const api::RequeueRequest& request) {
  Words words = {"scontrol", request.hold() || request.special_exit() ? "requeuehold" : "requeue"};
  if (request.special_exit()) words.emplace_back("State=SpecialExit");
  words.push_back(ids_of(request.jobs()));
  return act(std::move(words), static_cast<uint32_t>(request.jobs_size()));
}

Result<api::ActionReply> SlurmEngine::suspend(const api::SuspendRequest& request) {
  return act({"scontrol", request.resume() ? "resume" : "suspend", ids_of(request.jobs())},
             static_cast<uint32_t>(request.jobs_size()));
}

Result<api::ActionReply> SlurmEngine::top(const api::TopRequest& request) {
  return act({"scontrol", "top", ids_of(request.jobs())}, static_cast<uint32_t>(request.jobs_size()));
}

Result<api::ActionReply> SlurmEngine::notify(const api::NotifyRequest& request) {
  return act({"scontrol", "notify", id_of(request.job()), request.message()}, 0);
}

Result<api::ActionReply> SlurmEngine::update(const api::UpdateJobRequest& request) {
  Words words = {"scontrol", "update"};
  if (request.has_step_id()) {
    words.push_back("StepId=" + id_of(request.job()) + "." + std::to_string(request.step_id()));
  } else if (request.has_job()) {
    words.push_back("JobId=" + id_of(request.job()));
  }
  if (!request.name().empty()) words.push_back("JobName=" + request.name());
  add_fields(request.fields(), words);
  return act(std::move(words), 1);
}

Result<api::ActionReply> SlurmEngine::update(const api::UpdateNodeRequest& request) {
  Words words = {"scontrol", "update", "NodeName=" + request.node_list()};
  add_fields(request.fields(), words);
  auto done = act(std::move(words), 1);
  answers_.forget("nodes");
  return done;
}

Result<api::ActionReply> SlurmEngine::update(const api::UpdatePartitionRequest& request) {
  Words words = {"scontrol",
                 request.change() == api::CREATE   ? "create"
                 : request.change() == api::DELETE ? "delete"
                                                   : "update",
                 "PartitionName=" + request.name()};
  add_fields(request.fields(), words);
  auto done = act(std::move(words), 1);
  answers_.forget("partitions");
  return done;
}

Result<api::ActionReply> SlurmEngine::update(const api::UpdateReservationRequest& request) {
  Words words = {"scontrol", request.change() == api::CREATE   ? "create"
                             : request.change() == api::DELETE ? "delete"
                                                               : "update"};
  if (request.change() == api::CREATE) words.emplace_back("reservation");
  if (!request.name().empty()) words.push_back("ReservationName=" + request.name());
  add_fields(request.fields(), words);
  auto done = act(std::move(words), 1);
  answers_.forget("reservations");
  return done;
}

Result<api::ActionReply> SlurmEngine::update(const api::UpdateRecordsRequest& /*request*/) {
  return lacks("change the record of ended jobs from here: use its own sacctmgr");
}

}  // namespace minke::engine::slurm
