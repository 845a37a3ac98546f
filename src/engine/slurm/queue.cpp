// SlurmEngine: the queue.
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "engine/embedded/state/job_matcher.h"
#include "engine/slurm/json_jobs.h"
#include "engine/slurm/json_records.h"
#include "engine/slurm/queue_text.h"
#include "engine/slurm/slurm_engine.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

constexpr int kJobsInPart = 500;

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

// From 23.02 on squeue --json has all that is needed.
bool tells_enough_in_json(std::string_view version) {
  constexpr uint64_t kFirstYear = 23;
  return text::parse_unsigned(version.substr(0, version.find('.'))).value_or(0) >= kFirstYear;
}

bool is_shown(const model::JobRecord& job, const api::JobFilter& filter, const JobMatcher& matcher) {
  if (!matcher.selected(job) || !matcher.passes(job)) return false;
  if (filter.all_states()) return true;
  if (!filter.states().empty()) return matcher.has_state(job.state());
  return job.completing() || job.state() <= model::JOB_SUSPENDED;
}

}  // namespace

Status SlurmEngine::ask_queue_json(const Take<api::JobsReply>& take) {
  Parts parts(take);
  const Status read = programs_.run({"squeue", "--states=all", "--json"}, [&](os::ProgramOutput& output) {
    return read_json_records([&](char* buffer, size_t size) { return output.read(buffer, size); }, "jobs",
                             [&](const nlohmann::json& record) -> Status {
                               model::JobRecord job = job_of(record);
                               return job.job_id() == 0 ? Status() : parts.add(std::move(job));
                             });
  });
  return read ? parts.finish() : read;
}

Status SlurmEngine::ask_queue_text(const Take<api::JobsReply>& take) {
  Parts parts(take);
  QueueText reader(unguessed_mark(), [&](model::JobRecord job) { return parts.add(std::move(job)); });
  const Status read =
      programs_.lines(reader.words(), [&](std::string_view line) { return reader.line(line); });
  if (!read) return read;
  if (const Status finished = reader.finish(); !finished) return finished;
  return parts.finish();
}

Status SlurmEngine::ask_queue(const Take<api::JobsReply>& take) {
  const auto known = version();
  if (!known) return failure(known.error());
  return tells_enough_in_json(*known) ? ask_queue_json(take) : ask_queue_text(take);
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
