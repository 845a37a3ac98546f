#include "cli/farm/meta_submission.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "api/submission.pb.h"
#include "cli/batch_submission.h"
#include "cli/farm/meta_jobs.h"
#include "cli/srun/launch_environment.h"
#include "engine/find_submitted.h"
#include "engine/open.h"
#include "farm/meta_files.h"
#include "farming/farm_jobs.h"
#include "farming/shared_lock.h"
#include "model/job_spec.pb.h"
#include "os/files.h"
#include "os/random_key.h"
#include "submit/advice.h"
#include "submit/job_request.h"
#include "text/hex.h"
#include "text/number.h"
#include "view/output.h"

namespace minke::cli {
namespace {

constexpr uint32_t kMostTasks = 1000;  // of one array: Slurm's MaxArraySize is 1001 as installed
constexpr uint32_t kMostAtOnce = 4096;

struct Script {
  submit::JobRequest request;
  submit::Invocation invocation;
  std::vector<std::string> words;
};

// What sbatch would make of these words.
Result<Script> read_words(std::vector<std::string> words) {
  Script script;
  script.words = std::move(words);
  std::vector<char*> argv;
  for (std::string& word : script.words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(script.words.size());
  script.invocation = current_invocation(submit::Command::kSbatch, argc, argv.data());
  std::optional<submit::ScriptFile> content;
  const auto refused = [&](const submit::Refusal& refusal) {
    return failure("sbatch: error: " + submit::plain_refusal(script.invocation, content, refusal));
  };
  const auto line = submit::read_command_line(script.invocation);
  if (!line) return refused(line.error());
  if (line->wrap || line->show != submit::ShowOnly::kNothing || line->positional.empty())
    return failure("the arguments behind N must be options of sbatch");
  auto read = read_script(script.invocation, *line);
  if (!read) return failure(read.error());
  content = std::move(*read);
  auto request = submit::make_job_request(script.invocation, *line, *content);
  if (!request) return refused(request.error());
  if (!request->het_components.empty()) return failure("a farm's job cannot be heterogeneous");
  script.request = std::move(*request);
  return script;
}

Result<uint32_t> submit_script(engine::Engine& cluster, Script& script, const std::string& key) {
  std::vector<char*> argv;
  for (std::string& word : script.words) argv.push_back(word.data());
  argv.push_back(nullptr);
  for (const std::string& note : script.request.notes) std::fprintf(stderr, "sbatch: %s\n", note.c_str());
  const auto reply = submit_batch(cluster, script.invocation, script.request,
                                  static_cast<int>(script.words.size()), argv.data(), key);
  if (!reply) return failure(reply.error());
  for (const std::string& note : reply->notes()) std::fprintf(stderr, "sbatch: %s\n", note.c_str());
  return reply->job_id();
}

bool exists(const char* name) {
  return ::access(name, F_OK) == 0;
}

Status check_directory() {
  for (const char* name : {"config.h", "job_script.sh", "single_case.sh", "table.dat"})
    if (!exists(name))
      return failure(
          "Non-farm directory (config.h, job_script.sh, single_case.sh, and/or table.dat are missing); "
          "exiting");
  return {};
}

Result<int64_t> runtime_of(const submit::JobRequest& request, const farm::MetaConfig& config) {
  if (!request.spec.has_time_limit_minutes())
    return failure("Job runtime sbatch argument (-t or --time) is missing in job_script.sh. Exiting");
  const int64_t seconds = int64_t{request.spec.time_limit_minutes()} * 60;
  if (seconds < config.runtime_min || seconds > config.runtime_max)
    return failure("Wrong job runtime in job_script.sh - " + std::to_string(seconds) + " . Exiting");
  return seconds;
}

// How many jobs, and how many cases at once in each.
void size_run(const MetaRequest& request, const farm::MetaConfig& config, uint64_t cases, MetaRun& run) {
  run.simple = request.jobs < 0;
  run.at_once = config.whole_node ? std::min(config.n_whole, kMostAtOnce) : 1;
  uint64_t jobs = run.simple ? (cases + run.at_once - 1) / run.at_once : static_cast<uint64_t>(request.jobs);
  jobs = std::min(jobs, (cases + run.at_once - 1) / run.at_once);
  if (jobs > config.jobs_max) {
    view::write_out("NJOBS_MAX in config.h allows " + std::to_string(config.jobs_max) + " jobs of " +
                    std::to_string(jobs) + "\n");
    jobs = config.jobs_max;
  }
  for (uint64_t left = jobs; left > 0; left -= std::min<uint64_t>(left, kMostTasks))
    run.jobs.push_back(
        {text::to_hex(os::random_key()), static_cast<uint32_t>(std::min<uint64_t>(left, kMostTasks)), 0});
}

std::vector<std::string> array_words(const MetaRun& run, const MetaJobs& jobs, bool whole_node,
                                     const std::vector<std::string>& options) {
  std::vector<std::string> words = {"sbatch", "--array=1-" + std::to_string(jobs.count),
                                    "--output=OUTPUT/slurm-%A_%a.out"};
  if (whole_node) words.insert(words.end(), {"--nodes=1", "--exclusive"});
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("job_script.sh");
  ::setenv("MINKE_FARM_RUN", run.directory().c_str(), 1);  // goes with the job's environment
  return words;
}

// Submits what is not yet, and writes down each as soon as it is.
Status submit_run(engine::Engine& cluster, MetaRun& run, bool is_second_try) {
  const auto content = read_farm_file("config.h");
  const auto config =
      content ? farm::read_meta_config(*content) : Result<farm::MetaConfig>(farm::MetaConfig());
  const std::vector<std::string> options(run.words.begin() + 1, run.words.end());
  std::string arrays;
  for (MetaJobs& jobs : run.jobs) {
    if (jobs.job_id == 0) {
      std::vector<std::string> words =
          jobs.count > 0 ? array_words(run, jobs, config && config->whole_node, options)
                         : std::vector<std::string>{"sbatch", "--dependency=afterany" + arrays,
                                                    "--output=OUTPUT/auto-%j.out", "resubmit_script.sh"};
      auto script = read_words(std::move(words));
      if (!script) return failure(script.error());
      const std::string key = text::from_hex(jobs.key);
      auto id = is_second_try ? engine::find_submitted(cluster, key, run.begun) : Result<uint32_t>(0u);
      if (id && *id == 0) id = submit_script(cluster, *script, key);
      if (!id) {
        std::fprintf(stderr, "sbatch: error: %s\n", id.error().message.c_str());
        return failure(jobs.count > 0
                           ? "Something wrong with sbatch farm submission; jobid=; aborting"
                           : "Something wrong with a auto-resubmit job submission; jobid=; aborting");
      }
      jobs.job_id = *id;
      if (const Status written = write_run(run); !written) return written;
    }
    arrays += ":" + std::to_string(jobs.job_id);
  }
  run.submitted = true;
  return write_run(run);
}

// So that a refused submission leaves nothing behind; but jobs that are submitted already need it.
void forget_run(const MetaRun& run) {
  for (const MetaJobs& jobs : run.jobs)
    if (jobs.job_id != 0) return;
  remove_tree(run.directory());
}

void announce(const MetaRun& run, const char* table) {
  uint64_t jobs = 0;
  for (const MetaJobs& one : run.jobs) jobs += one.count;
  view::write_out("Submitting " + std::to_string(run.cases) + " cases from " + table + " as " +
                  std::to_string(jobs) + " jobs using " + (run.simple ? "SIMPLE" : "META") + " mode\n\n" +
                  "Submitting the farm as an Array Job\n\n");
}

Status make_directories() {
  for (const char* name : {"OUTPUT", "STATUSES", "MISC"})
    if (!os::make_directories(name, 0755))
      return failure("Couldn't create subdirectories inside the farm directory ; exiting");
  return {};
}

// The table of the new run; the user's own gets its numbers.
Result<std::string> table_for(MetaWork work, const MetaRun& last) {
  if (work != MetaWork::kAll) {
    auto left = read_left(last);
    if (!left) return failure(left.error());
    std::string& table = work == MetaWork::kHopeful ? left->hopeful_table : left->table;
    if (table.empty()) return failure("No failed/unfinished jobs; nothing to resubmit");
    if (const Status written = os::replace_file("table.dat_", table, 0644); !written)
      return failure(written.error());
    return std::move(table);
  }
  const auto content = read_farm_file("table.dat");
  if (!content) return failure("File table.dat doesn't exist. Exiting");
  auto table = farm::read_meta_table(*content, "table.dat");
  if (!table) return failure(table.error());
  if (table->numbered) {
    struct stat info {};
    const mode_t mode = ::stat("table.dat", &info) == 0 ? info.st_mode & 0777 : 0644;
    if (const Status written = os::replace_file("table.dat", table->content, mode); !written)
      return failure(written.error());
  }
  return std::move(table->content);
}

Status check_may_begin(engine::Engine& cluster, const MetaRun& last, MetaWork work) {
  const auto statuses = read_statuses();
  if (!statuses) return failure(statuses.error());
  if (work != MetaWork::kAll) {
    if (last.number == 0 && statuses->lines == 0) return failure(kNoFarm);
    if (last.number == 0) return {};
    const auto states = states_of(cluster, last);
    if (!states) return failure(states.error());
    if (states->running + states->queued > 0)
      return failure("Jobs are still running/queued; cannot resubmit");
    return {};
  }
  if (last.number != 0 || statuses->lines > 0)
    return failure(
        "This farm was submitted before: resubmit.run N runs what is left, clean.run makes it new; exiting");
  return {};
}

}  // namespace

Result<MetaRequest> read_meta_request(int argc, char** argv) {
  MetaRequest request;
  const std::string first = argc > 1 ? argv[1] : "";
  const auto number = text::parse_unsigned(first, 1u << 20);
  if (first != "-1" && (!number || *number == 0))
    return failure("Wrong first argument: " + first + " (should be a positive integer or -1) ; exiting");
  request.jobs = first == "-1" ? -1 : static_cast<int64_t>(*number);
  for (int i = 2; i < argc; ++i) {
    if (std::string_view(argv[i]) == "-auto") {
      request.resubmits = true;
    } else if (std::string_view(argv[i]).find('\n') != std::string_view::npos) {
      return failure("an argument with a line feed; exiting");
    } else {
      request.options.emplace_back(argv[i]);
    }
  }
  return request;
}

Status submit_meta_farm(const MetaRequest& request, MetaWork work) {
  if (const Status fine = check_directory(); !fine) return fine;
  if (request.resubmits && !exists("resubmit_script.sh"))
    return failure("-auto option requires resubmit_script.sh file in the root farm directory; exiting");
  if (exists("final.sh") && !exists("resubmit_script.sh"))
    return failure("final.sh requires resubmit_script.sh file in the root farm directory; exiting");
  const auto settings = read_farm_file("config.h");
  if (!settings) return failure(settings.error());
  const auto config = farm::read_meta_config(*settings);
  if (!config) return failure(config.error());
  std::vector<std::string> trial = {"sbatch"};
  trial.insert(trial.end(), request.options.begin(), request.options.end());
  trial.emplace_back("job_script.sh");
  const auto script = read_words(std::move(trial));
  if (!script) return failure(script.error());
  const auto runtime = runtime_of(script->request, *config);
  if (!runtime) return failure(runtime.error());

  const auto cluster = engine::open();
  if (!cluster) return failure(cluster.error());
  if (const Status made = os::make_directories("MISC", 0755); !made)
    return failure("Couldn't create subdirectories inside the farm directory ; exiting");
  auto lock = farming::SharedLock::open("MISC/lock");  // two of them at once: one after the other
  if (!lock) return failure(lock.error());
  if (const Status held = lock->hold(0); !held) return held;
  auto run = read_last_run();
  if (!run) return failure(run.error());
  const bool is_second_try = run->number != 0 && !run->submitted;
  if (!is_second_try) {
    if (const Status may = check_may_begin(**cluster, *run, work); !may) return may;
    const auto table = table_for(work, *run);
    if (!table) return failure(table.error());
    if (const Status made = make_directories(); !made) return made;
    MetaRun next;
    next.number = run->number + 1;
    next.cases = static_cast<uint64_t>(std::count(table->begin(), table->end(), '\n'));
    next.resubmits = request.resubmits;
    next.runtime = *runtime;
    next.words = {std::to_string(request.jobs)};
    next.words.insert(next.words.end(), request.options.begin(), request.options.end());
    size_run(request, *config, next.cases, next);
    if (request.resubmits || exists("final.sh")) next.jobs.push_back({text::to_hex(os::random_key()), 0, 0});
    if (const Status made = make_run(next, *table); !made) return made;
    *run = std::move(next);
  }
  announce(*run, work == MetaWork::kAll ? "table.dat" : "table.dat_");
  if (const Status submitted = submit_run(**cluster, *run, is_second_try); !submitted) {
    forget_run(*run);
    return submitted;
  }
  view::write_out("Success!\n");
  return {};
}

Result<uint32_t> submit_final_script() {
  auto script = read_words({"sbatch", "final.sh"});
  if (!script) return failure(script.error());
  const auto cluster = engine::open();
  if (!cluster) return failure(cluster.error());
  return submit_script(**cluster, *script, "");
}

}  // namespace minke::cli
