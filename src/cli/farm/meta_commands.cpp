// submit.run, resubmit.run, autojob.run, Status.run and clean.run.
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "cli/farm/meta.h"
#include "cli/farm/meta_directory.h"
#include "cli/farm/meta_jobs.h"
#include "cli/farm/meta_submission.h"
#include "engine/open.h"
#include "farm/retry_rule.h"
#include "farming/journal.h"
#include "farming/reclaim.h"
#include "text/timestamp.h"
#include "view/output.h"

namespace minke::cli {
namespace {

constexpr const char* kKept[] = {"job_script.sh", "single_case.sh",     "final.sh",
                                 "config.h",      "resubmit_script.sh", "table.dat"};

constexpr int kTriesForJobs = 20;
constexpr unsigned kBetweenTries = 3;  // s

int submit(int argc, char** argv, MetaWork work) {
  const auto request = read_meta_request(argc, argv);
  if (!request) return farm_complain(request.error().message);
  if (const Status done = submit_meta_farm(*request, work); !done) return farm_complain(done.error().message);
  return 0;
}

bool is_farm() {
  return std::all_of(std::begin(kKept), std::end(kKept), [](const std::string& name) {
    return name == "final.sh" || name == "resubmit_script.sh" || ::access(name.c_str(), F_OK) == 0;
  });
}

// Appends to farm.log what an automatic resubmission does; nobody sees its standard output.
int note(const std::string& what, int status) {
  if (std::FILE* file = std::fopen("farm.log", "a")) {
    std::fprintf(file, "%s %s\n", text::format_time(std::time(nullptr)).c_str(), what.c_str());
    std::fclose(file);
  }
  view::write_out(what + "\n");
  return status;
}

// Jobs of the farm that have ended may be cleared away yet.
void wait_for_jobs(const MetaRun& run) {
  const auto cluster = engine::open();
  for (int tries = 0; cluster && tries < kTriesForJobs; ++tries) {
    const auto states = states_of(**cluster, run);
    if (!states || states->queued + states->running == 0) return;
    ::sleep(kBetweenTries);
  }
}

// The cases that the run's last jobs took with them: nobody was left to tell.
Status account_for_last(const MetaRun& run) {
  auto journal = farming::Journal::open(run.directory());
  if (!journal) return failure(journal.error());
  const auto turn = farming::Turn::take(*journal);
  if (!turn) return failure(turn.error());
  farm::RetryRule rule;
  rule.lost = false;
  const auto dead = farming::account_for_the_dead(*journal, rule);
  return dead ? Status() : Status(failure(dead.error()));
}

// Where META-Farm itself keeps scratch files of a farm: what TMP leads to, below the user's ~/tmp. Nothing
// else is ever removed.
std::string scratch_of_meta() {
  std::error_code problem;
  const auto target = std::filesystem::read_symlink("TMP", problem);
  const passwd* self = ::getpwuid(::getuid());
  if (problem || self == nullptr) return {};
  const std::string tmp = std::string(self->pw_dir) + "/tmp";
  return target.is_absolute() && target.parent_path() == tmp && target.has_filename() ? target.string() : "";
}

}  // namespace

int submit_run_main(int argc, char** argv) {
  return submit(argc, argv, MetaWork::kAll);
}

int resubmit_run_main(int argc, char** argv) {
  return submit(argc, argv, MetaWork::kLeft);
}

int autojob_run_main(int, char**) {
  const auto run = read_last_run();
  if (!run) return note(run.error().message, 1);
  if (run->number == 0) return note(kNoFarm, 1);
  if (const Status done = account_for_last(*run); !done) return note(done.error().message, 1);
  const auto left = read_left(*run);
  if (!left) return note(left.error().message, 1);
  if (left->cases == 0) {
    if (::access("final.sh", F_OK) != 0) return note("All cases have succeeded", 0);
    const auto job = submit_final_script();
    if (!job) return note("final.sh: " + job.error().message, 1);
    return note("All cases have succeeded; final.sh is job " + std::to_string(*job), 0);
  }
  if (!run->resubmits)
    return note(std::to_string(left->cases) + " cases have not succeeded: final.sh does not run", 0);
  if (left->never_ended == 0) return note("Only failed cases left; cannot auto-resubmit; exiting", 0);
  if (left->idle_runs >= left->patience)
    return note("The last " + std::to_string(left->idle_runs) +
                    " submissions have begun no case: see OUTPUT; cannot auto-resubmit; exiting",
                1);
  wait_for_jobs(*run);
  MetaRequest request;
  request.jobs = run->words.empty() ? 1 : std::atoll(run->words.front().c_str());
  request.resubmits = true;
  if (run->words.size() > 1) request.options.assign(run->words.begin() + 1, run->words.end());
  if (const Status done = submit_meta_farm(request, MetaWork::kHopeful); !done)
    return note(done.error().message, 1);
  return note("Resubmitted " + std::to_string(left->hopeful) + " cases", 0);
}

int status_run_main(int argc, char** argv) {
  const bool failed_last = argc > 1 && std::string_view(argv[1]) == "-f";
  if (argc > 2 || (argc == 2 && !failed_last)) return farm_complain("Usage: Status.run [-f]");
  if (!is_farm() || ::access("STATUSES", F_OK) != 0) return farm_complain(kNoFarm);
  const auto statuses = read_statuses();
  if (!statuses) return farm_complain(statuses.error().message);
  std::vector<std::pair<std::string, int>> rows(statuses->of.begin(), statuses->of.end());
  std::sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
    if (failed_last && a.second != b.second) return a.second < b.second;
    return farm::ByNumber()(a.first, b.first);
  });
  std::string lines;
  for (const auto& [id, status] : rows) lines += id + " " + std::to_string(status) + "\n";
  view::write_out(lines);
  return 0;
}

int clean_run_main(int, char**) {
  if (!is_farm()) return farm_complain(kNoFarm);
  const auto run = read_last_run();
  if (run && run->number != 0) {
    const auto cluster = engine::open();
    const auto states = cluster ? states_of(**cluster, *run) : Result<MetaStates>(failure(cluster.error()));
    if (!states) return farm_complain(states.error().message);
    if (states->running + states->queued > 0)
      return farm_complain("Jobs are still running/queued; kill.run ends them");
  }
  view::write_out(
      "This deletes everything in this directory but job_script.sh, single_case.sh, final.sh, "
      "resubmit_script.sh, "
      "config.h and table.dat. Are you sure? Type yes: ");
  char answer[16] = "";
  if (std::fgets(answer, sizeof answer, stdin) == nullptr || std::string_view(answer) != "yes\n")
    return farm_complain("Nothing was deleted");
  if (const std::string scratch = scratch_of_meta(); !scratch.empty()) remove_tree(scratch);
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(".", problem)) {
    const std::string name = entry.path().filename().string();
    if (std::find(std::begin(kKept), std::end(kKept), name) == std::end(kKept)) remove_tree(name);
  }
  return problem ? farm_complain(problem.message()) : 0;
}

}  // namespace minke::cli
