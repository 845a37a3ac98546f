// SlurmEngine: submissions, by the cluster's own sbatch, and waiting for a job.
//
// A submission carries its key in the job's comment. Where sbatch cannot say whether slurmctld took the job
// (a time-out, a broken connection), the queue is searched for the key before it is sent again: nothing is
// submitted twice.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/accounting.pb.h"
#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "api/submission.pb.h"
#include "engine/fetch.h"
#include "engine/slurm/marked_jobs.h"
#include "engine/slurm/queue_text.h"
#include "engine/slurm/slurm_engine.h"
#include "engine/slurm/submission_words.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "os/fd.h"
#include "os/files.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

constexpr int kMostAttempts = 3;
constexpr int kLooks = 3;
constexpr std::chrono::milliseconds kBetweenLooks{1500};
constexpr int kTriesOfRecord = 10;  // slurmdbd hears of an end a little later
constexpr std::chrono::milliseconds kBetweenTries{500};
constexpr size_t kLongestScript = size_t{8} << 20;

Result<os::UniqueFd> script_file(const std::string& script) {
  os::UniqueFd file(::memfd_create("minke-script", MFD_CLOEXEC));
  if (!file) return failure_from_errno("memfd_create", errno);
  for (size_t written = 0; written < script.size();) {
    const ssize_t done = ::write(file.get(), script.data() + written, script.size() - written);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return failure_from_errno("the script", errno);
    written += static_cast<size_t>(done);
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return failure_from_errno("the script", errno);
  return file;
}

// The script's place and the arguments behind it. sbatch reads the file itself where it is the script, so
// that listings name it; else its standard input, which has to have a name where arguments follow.
void add_script(const api::SubmitRequest& request, std::vector<std::string>& words) {
  const model::JobSpec& spec = request.spec();
  const auto kept = spec.command().empty() ? Result<std::string>(failure("none"))
                                           : os::read_file(spec.command(), kLongestScript);
  const bool same = kept && *kept == request.script();
  if (same) {
    words.push_back(spec.command());
  } else if (spec.arguments_size() > 1) {
    words.emplace_back("/proc/self/fd/0");
  }
  for (int i = 1; i < spec.arguments_size(); ++i) words.push_back(spec.arguments(i));
}

// What the job is to find, less what the options say already; and how sbatch finds its cluster.
std::vector<std::string> environment_of(const api::SubmitRequest& request) {
  std::vector<std::string> environment;
  bool names_configuration = false;
  for (const std::string_view line : text::split(request.environment(), '\0')) {
    if (line.empty() || line.starts_with("SBATCH_")) continue;
    names_configuration = names_configuration || line.starts_with("SLURM_CONF=");
    environment.emplace_back(line);
  }
  const char* configuration = std::getenv("SLURM_CONF");
  if (!names_configuration && configuration != nullptr)
    environment.push_back(std::string("SLURM_CONF=") + configuration);
  return environment;
}

// Whether slurmctld may have taken the job although sbatch failed.
bool is_in_doubt(const Error& error) {
  if (error.code == ETIMEDOUT) return true;
  return error.code == ECONNREFUSED && error.message.find("connect failure") == std::string::npos;
}

}  // namespace

Result<api::SubmitReply> SlurmEngine::submit_once(const api::SubmitRequest& request,
                                                  const std::string& mark) {
  const auto script = script_file(request.script());
  if (!script) return failure(script.error());
  model::JobSpec spec = request.spec();
  spec.set_comment(marked_comment(spec.comment(), mark));
  const auto known = version();
  if (!known) return failure(known.error());
  // There --extra is short for --extra-node-info. It is a text that nothing depends on.
  if (queue_source(*known) == QueueSource::kTextOfOld) spec.clear_extra();
  std::vector<std::string> words = sbatch_options(spec);
  words.insert(words.begin(), request.test_only() ? "--test-only" : "--parsable");
  words.insert(words.begin(), "sbatch");
  add_script(request, words);
  const auto said = programs_.submit(std::move(words), script->get(), environment_of(request));
  if (!said) return failure(said.error());
  if (request.test_only()) return tested_job(said->output + said->complaint, std::time(nullptr));
  const auto id = submitted_job(said->output);
  if (!id) return failure(id.error());
  api::SubmitReply reply;
  reply.set_job_id(*id);
  for (std::string_view line : text::split(said->complaint, '\n')) {
    line = text::trim(line);
    if (line.starts_with("sbatch: ")) line.remove_prefix(8);
    if (!line.empty()) reply.add_notes(std::string(line));
  }
  return reply;
}

Result<std::set<uint32_t>> SlurmEngine::find_new(const std::string& mark, int64_t from) {
  answers_.forget("jobs");
  return find_marked(*this, mark, from);
}

// Where slurmctld has taken an earlier attempt, too: that one is meant, and the later ones are cancelled.
void SlurmEngine::keep_first(const std::string& mark, int64_t from, api::SubmitReply& reply) {
  const auto found = find_new(mark, from);
  if (!found || found->size() < 2) return;
  reply.set_job_id(*found->begin());
  for (auto id = std::next(found->begin()); id != found->end(); ++id) {
    if (const auto cancelled = programs_.text({"scancel", std::to_string(*id)}); !cancelled)
      reply.add_notes("job " + std::to_string(*id) + " is the same, submitted twice: cancel it");
  }
  answers_.forget("jobs");
}

Result<api::SubmitReply> SlurmEngine::submit(api::SubmitRequest request) {
  if (request.het_components_size() > 0)
    return lacks("take heterogeneous jobs from here: submit with its own sbatch");
  if (request.spec().interactive())
    return lacks("give allocations to this command: use its own salloc and srun");
  // Nothing has been sent while this is not known: there is no doubt then.
  if (const auto known = version(); !known) return failure(known.error());
  const std::string mark = submission_mark(request.key());
  const int64_t began = std::time(nullptr);
  for (int attempt = 1;; ++attempt) {
    auto submitted = submit_once(request, mark);
    if (request.test_only()) return submitted;
    if (submitted) {
      answers_.forget("jobs");
      if (attempt > 1) keep_first(mark, began, *submitted);
      return submitted;
    }
    if (!is_in_doubt(submitted.error())) return submitted;
    auto found = find_new(mark, began);
    // A slurmctld that was stuck may answer this question before it takes the job, which it has been sent
    // before.
    for (int looks = 1; looks < kLooks && found && found->empty(); ++looks) {
      std::this_thread::sleep_for(kBetweenLooks);
      found = find_new(mark, began);
    }
    if (!found)
      return failure(submitted.error().message +
                         "; whether it took the job is not known: before you submit it "
                         "again, look for a job with the comment " +
                         mark + " (squeue --me -o '%i %k')",
                     submitted.error().code);
    if (!found->empty()) {
      api::SubmitReply reply;
      reply.set_job_id(*found->begin());
      return reply;
    }
    if (attempt == kMostAttempts) return submitted;
  }
}

namespace {

bool has_ended(const model::JobRecord& job) {
  return job.state() > model::JOB_SUSPENDED && !job.completing();
}

// How its tasks stand together: as one that has not ended, else as one that has failed worst.
bool stands_for_more(const model::JobRecord& job, const model::JobRecord& than) {
  if (has_ended(job) != has_ended(than)) return has_ended(than);
  return job.exit_code() > than.exit_code();
}

uint64_t number_from_environment(const char* name) {
  const char* value = std::getenv(name);
  return text::parse_unsigned(value == nullptr ? "" : value).value_or(0);
}

// Whether a record of the job that this process is part of, and that so runs, is of before its start.
bool is_of_before(const model::JobRecord& job) {
  return job.start_time() == 0 || job.state() == model::JOB_PENDING ||
         job.restarts() < number_from_environment("SLURM_RESTART_COUNT");
}

}  // namespace

Result<model::JobRecord> SlurmEngine::as_it_is(uint32_t job_id) {
  auto job = as_it_was(job_id);
  const bool own = number_from_environment("SLURM_JOB_ID") == job_id;
  if (!own || (job && !is_of_before(*job))) return job;
  answers_.forget("jobs");
  return as_it_was(job_id);
}

Result<model::JobRecord> SlurmEngine::as_it_was(uint32_t job_id) {
  api::JobFilter filter;
  filter.set_all_states(true);
  filter.add_jobs()->set_job_id(job_id);
  model::JobRecord job;
  const auto look = [&](const model::JobRecord& one) {
    if (job.job_id() == 0 || stands_for_more(one, job)) job = one;
  };
  const auto known = fetch_jobs(*this, filter);
  if (!known) return failure(known.error());
  for (const model::JobRecord* one : known->records) look(*one);
  // Else slurmctld has forgotten it, or a queue as text did not tell how it failed.
  if (job.job_id() != 0 && (job.state() != model::JOB_FAILED || job.exit_code() != 0)) return job;
  const bool told = job.job_id() != 0;
  for (int tries = told ? kTriesOfRecord : 1; tries > 0; --tries) {
    api::QueryAccountingRequest query;
    *query.mutable_filter() = filter;
    const auto kept = fetch_accounting(*this, query);
    if (!kept && !told) return failure(kept.error());
    if (kept)
      for (const api::AccountedJob* one : kept->records) look(one->job());
    if (!told || !kept || job.exit_code() != 0) break;
    std::this_thread::sleep_for(kBetweenTries);
  }
  if (job.job_id() == 0)
    return failure(std::string(model::slurm_error_text(model::kInvalidJobId)), model::kInvalidJobId);
  return job;
}

Status SlurmEngine::wait(const api::WaitJobRequest& request, const Take<api::WaitJobReply>& take) {
  const bool start_does = request.until() == api::WaitJobRequest::STARTED;
  for (bool first = true;; first = false) {
    auto job = as_it_is(request.job_id());
    if (!job) return failure(job.error());
    const bool awaited = has_ended(*job) || (start_does && job->state() == model::JOB_RUNNING);
    if (first || awaited) {
      api::WaitJobReply reply;
      *reply.mutable_job() = std::move(*job);
      if (const Status taken = take(reply); !taken) return taken;
    }
    if (awaited) return {};
    std::this_thread::sleep_for(std::max(std::chrono::seconds(1), period_));
  }
}

}  // namespace minke::engine::slurm
