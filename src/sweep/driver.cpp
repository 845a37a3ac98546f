#include "sweep/driver.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <thread>

#include "api/accounting.pb.h"
#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "engine/failed_launch.h"
#include "engine/fetch.h"
#include "engine/find_submitted.h"
#include "helpers/keep_metrics.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "os/files.h"
#include "os/random_key.h"
#include "storage/copy_tree.h"
#include "sweep/trial_command.h"
#include "text/hex.h"
#include "text/shell_quote.h"
#include "text/state.h"
#include "view/text.h"

namespace minke::sweep {

namespace {

using End = search::Search::End;

constexpr size_t kMostLostRuns = 20;  // of one piece of a trial
constexpr int kMostUnknown = 5;       // looks for a job that nobody knows, or for how it failed
constexpr size_t kTrialsToJudge = 3;  // without the metric: it will not come
constexpr std::chrono::milliseconds kPause{200};
constexpr int kMostLooks = 300;  // for the end of jobs that were cancelled

// Also while its processes are cleared away: at its time limit a training saves its state, and its next run
// must find that.
bool goes_on(const model::JobRecord& job) {
  return job.completing() || job.state() == model::JOB_PENDING || job.state() == model::JOB_RUNNING ||
         job.state() == model::JOB_SUSPENDED || job.state() == model::JOB_REQUEUED;
}

// An older Slurm's queue does not tell how a job failed; its accounting does, a little later.
bool lacks_exit_code(const model::JobRecord& job) {
  return !goes_on(job) && job.state() == model::JOB_FAILED && job.exit_code() == 0;
}

// Ended by the cluster or by its own wish to go on, not by a mistake.
bool is_lost(const model::JobRecord& job) {
  const int32_t status = view::accounted_exit_code(job);
  return job.state() == model::JOB_TIMEOUT || job.state() == model::JOB_NODE_FAIL ||
         job.state() == model::JOB_PREEMPTED || job.state() == model::JOB_BOOT_FAIL ||
         (job.state() == model::JOB_FAILED && WIFEXITED(status) && WEXITSTATUS(status) == EX_TEMPFAIL);
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

}  // namespace

bool Driver::stop_is_asked() const {
  return ::access(record_.stop_path().c_str(), F_OK) == 0;
}

std::vector<uint64_t> Driver::running() const {
  std::vector<uint64_t> found;
  for (const auto& [number, trial] : record_.search().trials()) {
    if (trial.fate == search::Fate::kRuns) found.push_back(number);
  }
  return found;
}

Result<Driver::Ending> Driver::run() {
  const auto identity = cluster_.identity();
  if (!identity) return failure(identity.error());
  const auto pause =
      std::max<std::chrono::milliseconds>(kPause, std::chrono::seconds(identity->least_poll_seconds));
  for (;;) {
    if (stop_is_asked()) {
      if (const Status cancelled = cancel_all(); !cancelled) return failure(cancelled.error());
      return Ending::kStopped;
    }
    if (const Status filled = fill(); !filled) return failure(filled.error());
    if (running().empty()) return Ending::kDone;  // fill() had nothing to begin
    for (auto waited = pause * 0; waited < pause; waited += kPause) {
      if (around_.interrupted()) return Ending::kInterrupted;
      std::this_thread::sleep_for(kPause);
    }
    if (const Status looked = look(); !looked) return failure(looked.error());
    if (const Status comes = check_metric_comes(); !comes) return failure(comes.error());
  }
}

// First what was begun and has no job, then new trials.
Status Driver::fill() {
  for (const uint64_t trial : running()) {
    const auto& runs = record_.trials().at(trial).runs;
    if (runs.empty() || runs.back().ended || runs.back().job == 0) {
      if (const Status started = start_run(trial); !started) return started;
    }
  }
  while (running().size() < record_.settings().jobs && !around_.interrupted()) {
    const auto assignment = record_.search().next();
    if (!assignment) return {};
    if (const Status asked = record_.ask(*assignment, std::time(nullptr)); !asked) return asked;
    if (const Status started = start_run(assignment->trial); !started) return started;
  }
  return {};
}

// A member of a population begins from the state of another, which does not train now.
Status Driver::take_over(uint64_t trial) {
  const std::string own = record_.trial_directory(trial) + "/checkpoint";
  if (const Status made = os::make_directories(own, 0700); !made) return made;
  const auto& source = record_.trials().at(trial).source;
  if (!source) return {};
  storage::CopyProgress progress;
  storage::CopyOptions options;
  options.remove_others = true;
  return storage::copy_tree(record_.trial_directory(*source) + "/checkpoint", own, options, progress);
}

Result<std::string> Driver::script_of(const search::Trial& trial) {
  const std::string directory = record_.trial_directory(trial.number);
  const search::SweepFile& file = record_.file();
  TrialPlace place{directory + "/parameters.json", directory + "/checkpoint", directory, trial.number,
                   trial.budget};
  const auto words = trial_words(file, trial.point, place, around_.variable);
  if (!words) return failure(words.error());
  std::string script = "#!/bin/bash\n";
  const auto set = [&](const std::string& name, const std::string& value) {
    script += "export " + name + "=" + text::shell_quoted(value) + "\n";
  };
  set("MINKE_SWEEP_DIR", record_.directory());
  set("MINKE_TRIAL", std::to_string(trial.number));
  set("MINKE_TRIAL_DIR", directory);
  set("MINKE_CHECKPOINT_DIR", place.checkpoint);
  if (trial.budget > 0) set("MINKE_BUDGET", std::to_string(trial.budget));
  set("WANDB_DIR", directory);
  set("WANDB_SWEEP_PARAM_PATH", directory + "/wandb.yaml");
  script += "export WANDB_MODE=\"${WANDB_MODE:-offline}\"\nexec";
  for (const std::string& word : *words) script += " " + text::shell_quoted(word);
  return script + "\n";
}

// A run that was begun, and of which nobody wrote down the job: perhaps it was submitted, and the process
// killed. Its job is noted, if there is one; a cluster that knows keys gives it to who submits again.
Status Driver::settle(uint64_t number) {
  const TrialRecord& trial = record_.trials().at(number);
  if (trial.runs.empty() || trial.runs.back().ended || trial.runs.back().job != 0) return {};
  const auto identity = cluster_.identity();
  if (!identity) return failure(identity.error());
  // What is known of the queue may be older than the job.
  const auto pause = std::chrono::seconds(identity->least_poll_seconds);
  if (pause.count() > 0)
    around_.say("trial " + std::to_string(number) +
                ": perhaps its job was submitted before; the queue tells in " +
                std::to_string(pause.count()) + " s");
  for (std::chrono::milliseconds waited{0}; waited < pause; waited += kPause) {
    if (around_.interrupted()) return {};
    std::this_thread::sleep_for(kPause);
  }
  const auto job = engine::find_submitted(cluster_, text::from_hex(trial.runs.back().key), trial.asked);
  if (!job) return failure(job.error());
  return *job == 0 ? Status() : record_.submitted(number, *job);
}

Status Driver::start_run(uint64_t number) {
  if (const Status settled = settle(number); !settled) return settled;
  if (const auto& runs = record_.trials().at(number).runs;
      !runs.empty() && !runs.back().ended && runs.back().job != 0)
    return {};
  if (around_.interrupted()) return {};
  const search::Trial& trial = record_.search().trials().at(number);
  const std::string directory = record_.trial_directory(number);
  if (const Status taken = take_over(number); !taken) return taken;
  const std::string json = trial_json(record_.file(), trial.point, trial.budget) + "\n";
  if (const Status wrote = os::replace_file(directory + "/parameters.json", json, 0600); !wrote) return wrote;
  const std::string wandb = wandb_parameters(record_.file(), trial.point, trial.budget);
  if (const Status wrote = os::replace_file(directory + "/wandb.yaml", wandb, 0600); !wrote) return wrote;
  const auto script = script_of(trial);
  if (!script) return failure(script.error());
  const auto& runs = record_.trials().at(number).runs;
  if (runs.empty() || runs.back().ended) {
    if (const Status begun = record_.begin_run(number, text::to_hex(os::random_key())); !begun) return begun;
  }
  TrialJob job;
  job.key = text::from_hex(record_.trials().at(number).runs.back().key);
  const std::string name = record_.file().name.empty() ? "sweep" : record_.file().name;
  job.name = name + "-" + std::to_string(number);
  job.script = *script;
  job.log = directory + "/output.log";
  job.work_dir = record_.settings().work_dir;
  job.sbatch = record_.file().sbatch;
  job.sbatch.insert(job.sbatch.end(), record_.settings().sbatch.begin(), record_.settings().sbatch.end());
  const auto submitted = around_.submit(job);
  if (!submitted) return failure(submitted.error());
  return record_.submitted(number, *submitted);
}

// What the cluster knows of these jobs; one that it does not know is left out.
Result<std::map<uint32_t, model::JobRecord>> Driver::ask_for_jobs(const std::vector<uint32_t>& jobs) {
  std::map<uint32_t, model::JobRecord> found;
  api::JobFilter filter;
  for (const uint32_t job : jobs) filter.add_jobs()->set_job_id(job);
  filter.set_all_states(true);
  // A Slurm that has forgotten the only job asked for calls that an error; its accounting knows the job.
  const auto queue = engine::fetch_jobs(cluster_, filter);
  if (!queue && queue.error().code != static_cast<int>(model::kInvalidJobId)) return failure(queue.error());
  if (queue) {
    for (const model::JobRecord* job : queue->records) found[job->job_id()] = *job;
  }
  api::QueryAccountingRequest query;
  query.mutable_filter()->set_all_states(true);
  for (const uint32_t job : jobs) {
    if (!found.contains(job) || lacks_exit_code(found[job]))
      query.mutable_filter()->add_jobs()->set_job_id(job);
  }
  if (query.filter().jobs_size() == 0) return found;
  const auto records = engine::fetch_accounting(cluster_, query);
  if (!records) return failure(records.error());
  for (const api::AccountedJob* one : records->records) {
    const model::JobRecord& job = one->job();
    if (!found.contains(job.job_id()) || job.exit_code() != 0) found[job.job_id()] = job;
  }
  return found;
}

Status Driver::look() {
  std::vector<uint32_t> jobs;
  const std::vector<uint64_t> trials = running();
  for (const uint64_t trial : trials) {
    const auto& runs = record_.trials().at(trial).runs;
    if (!runs.empty() && !runs.back().ended && runs.back().job != 0) jobs.push_back(runs.back().job);
  }
  if (jobs.empty()) return {};
  auto found = ask_for_jobs(jobs);
  if (!found) {
    around_.say("the cluster does not answer (" + found.error().message + "); it is asked again");
    return {};
  }
  std::vector<model::JobRecord> held;
  for (const auto& [id, job] : *found)
    if (engine::waits_after_failed_launch(job)) held.push_back(job);
  const auto stay = engine::release_after_failed_launch(cluster_, held);
  if (!stay) around_.say(stay.error().message);
  for (const uint32_t id : stay ? *stay : std::vector<uint32_t>())
    if (said_held_.insert(id).second) around_.say(engine::held_text(id));
  for (const uint64_t trial : trials) {
    const auto& runs = record_.trials().at(trial).runs;
    if (runs.empty() || runs.back().ended || runs.back().job == 0) continue;
    const auto job = found->find(runs.back().job);
    if (const Status looked = look_at(trial, job == found->end() ? nullptr : &job->second); !looked)
      return looked;
  }
  return {};
}

Status Driver::look_at(uint64_t trial, const model::JobRecord* job) {
  const uint32_t id = record_.trials().at(trial).runs.back().job;
  if (job == nullptr) {
    // The record may lag behind the queue.
    if (++unknown_[id] < kMostUnknown) return {};
    return record_.run_lost(trial, "job " + std::to_string(id) + " is known to nobody");
  }
  if (lacks_exit_code(*job) && ++unknown_[id] < kMostUnknown) return {};
  unknown_.erase(id);
  if (goes_on(*job)) return job->state() == model::JOB_RUNNING ? report(trial, id) : Status{};
  return ended(trial, *job);
}

const ml::Series* Driver::read_metric(uint64_t trial, ml::MetricSet& set) {
  TrialMetrics& metrics = metrics_.try_emplace(trial, record_.trial_directory(trial)).first->second;
  metrics.update();
  set = metrics.all();
  for (const ml::Series& one : set.series()) written_.insert(one.name);
  return set.find(record_.file().metric);
}

Status Driver::report(uint64_t trial, uint32_t job) {
  if (!record_.search().plan().early_stop || record_.trials().at(trial).stopping) return {};
  ml::MetricSet set;
  const ml::Series* series = read_metric(trial, set);
  if (series == nullptr || series->seen == 0) return {};
  const bool minimum = record_.search().plan().goal == search::Goal::kMinimize;
  record_.search().report(trial, series->seen, minimum ? series->least : series->largest, series->last.value);
  if (!record_.search().should_stop(trial)) return {};
  if (const Status noted = record_.stopping(trial); !noted) return noted;
  around_.say("trial " + std::to_string(trial) + " is stopped after " + std::to_string(series->seen) +
              " values: others are better");
  return cancel(job);
}

Status Driver::ended(uint64_t number, const model::JobRecord& job) {
  const TrialRecord& trial = record_.trials().at(number);
  if (!trial.stopping && is_lost(job)) {
    const std::string state(text::job_state_name(job.state()));
    if (trial.lost_runs + 1 < kMostLostRuns) {
      around_.say("trial " + std::to_string(number) + ": job " + std::to_string(job.job_id()) + " ended as " +
                  state + ", and goes on");
      return record_.run_lost(number, state);
    }
    return record_.tell(number, End::kFailed, std::nullopt,
                        "its jobs ended " + std::to_string(kMostLostRuns) +
                            " times before it was done, the last as " + state +
                            ": give it more time (sbatch: --time), or let it save and load ${checkpoint}",
                        std::time(nullptr));
  }
  return complete(number, job);
}

Status Driver::complete(uint64_t number, const model::JobRecord& job) {
  ml::MetricSet set;
  const ml::Series* series = read_metric(number, set);
  const std::string& metric = record_.file().metric;
  if (series == nullptr && !metric.empty() && !metrics_.at(number).has_files()) {
    // Perhaps it wrote beside its program, as programs do that know nothing of sweeps.
    helpers::MetricSearch search = helpers::search_for(cluster_, job);
    search.update();
    set = search.all();
    for (const ml::Series& one : set.series()) written_.insert(one.name);
    series = set.find(metric);
  }
  const TrialRecord& trial = record_.trials().at(number);
  std::optional<double> value;
  if (series != nullptr && series->seen > 0) {
    const bool minimum = record_.search().plan().goal == search::Goal::kMinimize;
    value = minimum ? series->least : series->largest;
    record_.search().report(number, series->seen, *value, series->last.value);
  }
  End end = trial.stopping ? End::kStopped : End::kComplete;
  std::string reason;
  if (!trial.stopping && job.state() != model::JOB_COMPLETE) {
    end = End::kFailed;
    reason = "job " + std::to_string(job.job_id()) + " ended as " +
             std::string(text::job_state_name(job.state())) + ", exit code " +
             text::format_exit_code(view::accounted_exit_code(job)) + "; see " +
             record_.trial_directory(number) + "/output.log";
  } else if (!value && !metric.empty()) {
    end = End::kFailed;
    reason = "it wrote no finite value of " + metric;
  }
  if (end == End::kFailed) around_.say("trial " + std::to_string(number) + " failed: " + reason);
  if (value && end != End::kFailed)
    around_.say("trial " + std::to_string(number) + ": " + metric + " " + number_text(*value));
  return record_.tell(number, end, value, reason, std::time(nullptr));
}

// Whoever has named the metric wrongly should not learn it from the last trial.
Status Driver::check_metric_comes() const {
  const std::string& metric = record_.file().metric;
  if (metric.empty()) return {};
  size_t without = 0;
  for (const auto& [number, trial] : record_.search().trials()) {
    if (trial.value) return {};
    const auto& reason = record_.trials().at(number).reason;
    without += trial.fate == search::Fate::kFailed && reason.starts_with("it wrote no finite value") ? 1 : 0;
  }
  if (without < kTrialsToJudge) return {};
  std::string names;
  for (const std::string& name : written_) {
    if (names.size() < 200) names += (names.empty() ? "" : ", ") + name;
  }
  return failure(
      "none of the first " + std::to_string(without) + " trials wrote a finite value of " + metric + "; " +
      (names.empty()
           ? "they wrote no metrics at all: write them below $MINKE_TRIAL_DIR, as CSV with a column step, "
             "JSON Lines, TensorBoard or W&B offline"
           : "they wrote " + names + ": name one of these in metric: name:"));
}

Status Driver::cancel(uint32_t job) {
  api::SignalRequest request;
  request.mutable_filter()->add_jobs()->set_job_id(job);
  request.set_ignore_missing(true);
  const auto answer = cluster_.signal(request);
  if (!answer) return failure(answer.error());
  return {};
}

// Returns once they have ended: their next runs must not find them at work.
Status Driver::cancel_all() {
  std::vector<uint32_t> jobs;
  for (const uint64_t trial : running()) {
    if (const Status settled = settle(trial); !settled) return settled;
    const auto& runs = record_.trials().at(trial).runs;
    if (runs.empty() || runs.back().ended || runs.back().job == 0) continue;
    jobs.push_back(runs.back().job);
    if (const Status cancelled = cancel(jobs.back()); !cancelled) return cancelled;
    if (const Status noted = record_.run_lost(trial, "the sweep was stopped"); !noted) return noted;
  }
  for (int look = 0; look < kMostLooks && !jobs.empty(); ++look) {
    const auto found = ask_for_jobs(jobs);
    if (!found) return failure(found.error());
    if (std::none_of(found->begin(), found->end(), [](const auto& one) { return goes_on(one.second); }))
      return {};
    std::this_thread::sleep_for(kPause);
  }
  return {};
}

}  // namespace minke::sweep
