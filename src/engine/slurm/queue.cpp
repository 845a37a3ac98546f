// SlurmEngine: the queue. JSON tells more than text does (which CPUs and GPUs a job has on each of its
// nodes), but costs Slurm's programs some fifty times as much: a long queue is read as text.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>

#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "engine/embedded/accounts/users.h"
#include "engine/embedded/state/job_matcher.h"
#include "engine/slurm/json_jobs.h"
#include "engine/slurm/json_records.h"
#include "engine/slurm/queue_text.h"
#include "engine/slurm/rest.h"
#include "engine/slurm/slurm_engine.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

constexpr int kJobsInPart = 500;
constexpr uint64_t kMostJobsAsJson = 2000;

// Parts of some hundred jobs each.
class Parts {
 public:
  explicit Parts(const Take<api::JobsReply>& take) : take_(take) {}
  Status add(model::JobRecord job) {
    *part_.add_jobs() = std::move(job);
    return part_.jobs_size() < kJobsInPart ? Status() : finish();
  }
  Status finish() {
    api::JobsReply part = std::exchange(part_, {});
    return take_(part);
  }

 private:
  const Take<api::JobsReply>& take_;
  api::JobsReply part_;
};

// Of a command that answered, but not with what can be read: it lacks the plugin, or tells it otherwise.
bool is_no_answer(const Error& error) {
  return error.code != ECONNREFUSED && error.code != ETIMEDOUT && error.code != EACCES;
}

bool is_shown(const model::JobRecord& job, const api::JobFilter& filter, const JobMatcher& matcher) {
  if (!matcher.touches(job) || !matcher.passes(job)) return false;
  if (filter.all_states()) return true;
  if (!filter.states().empty()) return matcher.has_state(job.state());
  return job.completing() || job.state() <= model::JOB_SUSPENDED;
}

}  // namespace

namespace {

Status read_jobs(const NextBytes& next, const Take<api::JobsReply>& take) {
  Parts parts(take);
  const Status read = read_json_records(next, "jobs", [&](const nlohmann::json& record) -> Status {
    model::JobRecord job = job_of(record);
    return job.job_id() == 0 ? Status() : parts.add(std::move(job));
  });
  return read ? parts.finish() : read;
}

Rest rest_of(const Place& place) {
  const char* token = std::getenv("SLURM_JWT");
  return Rest(place.rest, token == nullptr ? "" : token);
}

}  // namespace

Status SlurmEngine::ask_queue_json(const Take<api::JobsReply>& take) {
  return programs_.run({"squeue", "--all", "--states=all", "--json"}, [&](os::ProgramOutput& output) {
    return read_jobs([&](char* buffer, size_t size) { return output.read(buffer, size); }, take);
  });
}

Status SlurmEngine::ask_queue_rest(const std::string& interface, const Take<api::JobsReply>& take) {
  return rest_of(place()).get("/slurm/" + interface + "/jobs/",
                              [&](const NextBytes& next) { return read_jobs(next, take); });
}

Status SlurmEngine::ping_rest() {
  const auto known = version();
  if (!known) return failure(known.error());
  const std::string interface = rest_interface(*known);
  if (interface.empty()) return failure("slurmrestd of Slurm " + *known + " tells too little");
  return rest_of(place()).get("/slurm/" + interface + "/licenses/",
                              [](const NextBytes&) { return Status(); });
}

Status SlurmEngine::ask_queue_text(const Take<api::JobsReply>& take) {
  Parts parts(take);
  // squeue itself would look each job's group up anew.
  std::unordered_map<uint32_t, std::string> groups;
  QueueText reader(unguessed_mark(), [&](model::JobRecord job) {
    const auto [group, is_new] = groups.try_emplace(job.gid());
    if (is_new) group->second = group_name_of(job.gid());
    job.set_group_name(group->second);
    return parts.add(std::move(job));
  });
  const Status read =
      programs_.lines(reader.words(), [&](std::string_view line) { return reader.line(line); });
  if (!read) return read;
  if (const Status finished = reader.finish(); !finished) return finished;
  return parts.finish();
}

Status SlurmEngine::ask_queue(const Take<api::JobsReply>& take) {
  const auto known = version();
  if (!known) return failure(known.error());
  if (queue_source(*known) != QueueSource::kJson || load().jobs > kMostJobsAsJson)
    return ask_queue_text(take);
  bool given = false;
  const Take<api::JobsReply> counted = [&](api::JobsReply& part) -> Status {
    given = true;
    return take(part);
  };
  // The next source only as long as nothing has been taken from the one before. Whether slurmrestd answers is
  // told by minke doctor: Slurm's own commands know what it knows.
  const std::string interface = place().rest.empty() ? "" : rest_interface(*known);
  if (!interface.empty()) {
    const Status read = ask_queue_rest(interface, counted);
    if (read || given) return read;
  }
  const Status read = ask_queue_json(counted);
  if (!read && !given && is_no_answer(read.error())) return ask_queue_text(take);
  return read;
}

std::string SlurmEngine::note_of_version() {
  const auto known = version();
  if (!known || queue_source(*known) != QueueSource::kTextOfUnknown) return {};
  return "Slurm " + *known + " is newer than what this Minke knows: its queue is read as text";
}

Status SlurmEngine::jobs(const api::QueryJobsRequest& request, const Take<api::JobsReply>& take) {
  // Slurm has kept from its answer what this user may not see.
  const JobMatcher matcher(request.filter(), Viewer{.uid = ::getuid(), .sees_all = true});
  return kept_parts<api::JobsReply>(
      "jobs", [this](const Take<api::JobsReply>& give) { return ask_queue(give); },
      [&](api::JobsReply& part) -> Status {
        api::JobsReply shown;
        shown.set_now(part.now());
        for (model::JobRecord& job : *part.mutable_jobs()) {
          if (is_shown(job, request.filter(), matcher)) *shown.add_jobs() = std::move(job);
        }
        return take(shown);
      });
}

}  // namespace minke::engine::slurm
