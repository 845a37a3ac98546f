#include "cli/overview.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/version.h"
#include "cli/complain.h"
#include "cli/no_time.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "engine/user_jobs.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "text/characters.h"
#include "text/gres_count.h"
#include "text/number.h"
#include "text/printable.h"
#include "text/timestamp.h"
#include "text/translate.h"
#include "view/colour.h"
#include "view/my_jobs.h"
#include "view/output.h"
#include "view/text.h"

namespace minke::cli {

using text::tr;

namespace {

constexpr int64_t kDay = 86400;
constexpr uint32_t kShownEnded = 5;    // in the overview
constexpr uint32_t kListedEnded = 50;  // in minke jobs

// Of the terminal; 0: standard output is none.
size_t columns() {
  winsize size{};
  return ::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool is_on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (const std::string_view directory : text::split(path == nullptr ? "" : path, ':'))
    if (!directory.empty() && ::access((std::string(directory) + "/" + program).c_str(), X_OK) == 0)
      return true;
  return false;
}

std::string next_steps() {
  const std::string before = is_on_path("sbatch") ? "" : "minke ";
  const std::pair<std::string, std::string> steps[] = {
      {before + "sbatch job.sh", tr("submit a job script")},
      {"minke jobs", tr("your jobs: waiting, running, ended")},
      {tr("minke why JOB"), tr("why a job waits, how it runs, or how it ended")},
      {tr("minke tail -f JOB"), tr("what a job writes, as it writes it")},
      {before + tr("scancel JOB"), tr("end a job")},
      {"minke help", tr("everything else, by topic")},
  };
  std::string out;
  for (const auto& [command, what] : steps) {
    out += "  " + view::coloured(command, view::Meaning::kHeading);
    const size_t wide = text::characters(command);
    out.append(wide < 22 ? 22 - wide : 1, ' ').append(what).append("\n");
  }
  if (!before.empty())
    out += "\n" +
           tr("For sbatch, squeue and the others without minke in front: {}", {"eval \"$(minke env)\""}) +
           "\n";
  return out;
}

// "3 of 8 processors and 1 of 2 GPUs are in use"; empty where nodes are not to be had.
std::string use_of(engine::Engine& cluster) {
  const auto nodes = engine::fetch_nodes(cluster);
  if (!nodes || nodes->records.empty()) return "";
  uint64_t cpus = 0, used = 0, gpus = 0, used_gpus = 0;
  for (const model::NodeRecord* node : nodes->records) {
    cpus += node->cpus();
    used += node->allocated_cpus();
    gpus += text::gpus_in(node->gres());
    used_gpus += text::gpus_in(node->allocated_gres());
  }
  if (gpus == 0) return tr("{} of {} processors in use", {std::to_string(used), std::to_string(cpus)});
  return tr("{} of {} processors and {} of {} GPUs in use",
            {std::to_string(used), std::to_string(cpus), std::to_string(used_gpus), std::to_string(gpus)});
}

std::string paused_partitions(engine::Engine& cluster) {
  const auto partitions = engine::fetch_partitions(cluster);
  std::string names;
  if (!partitions) return names;
  for (const model::PartitionRecord* one : partitions->records)
    if (one->state() == "DOWN") names.append(names.empty() ? "" : ", ").append(text::printable(one->name()));
  return names;
}

std::string table(const engine::UserJobs& jobs, view::DisplayContext context) {
  context.now = jobs.now;
  return view::my_jobs_table({jobs.queued, jobs.ended}, context, columns());
}

}  // namespace

int overview() {
  const auto cluster = engine::open(engine::Start::kNever);
  if (!cluster && cluster.error().code != ECONNREFUSED) return complain(cluster.error());
  if (!cluster) {
    view::write_bytes(tr("Minke {}: the cluster is {}; the first command that needs it starts it.",
                         {kVersion, view::coloured(tr("down"), view::Meaning::kWaiting)}) +
                      "\n\n" + next_steps());
    return 0;
  }
  const auto jobs = engine::fetch_user_jobs(**cluster, ::getuid(), kDay, kShownEnded);
  if (!jobs) return complain(jobs.error());
  const std::string name = text::printable(engine::fetch_cluster_name(**cluster)), use = use_of(**cluster);
  std::string out = tr("Cluster {} is {}", {name, view::coloured(tr("up"), view::Meaning::kGood)}) +
                    (use.empty() ? "" : tr(": ") + use) + ".\n";
  if (const std::string paused = paused_partitions(**cluster); !paused.empty())
    out += view::coloured(tr("Paused"), view::Meaning::kWaiting) +
           tr(": nothing new starts in {}. To go on: {}", {paused, "minke resume"}) + "\n";
  out += "\n" + table(*jobs, view::display_context_from_environment()) + "\n" + next_steps();
  view::write_bytes(out);
  return 0;
}

int my_jobs(const std::string& since) {
  int64_t seconds = kDay;
  if (!since.empty()) {
    const int64_t now = std::time(nullptr);
    const auto from = text::parse_time(since, now);
    if (!from) return complain(no_time(since));
    seconds = now - *from;
  }
  const auto cluster = engine::open();
  if (!cluster) return complain(cluster.error());
  const auto jobs =
      engine::fetch_user_jobs(**cluster, ::getuid(), seconds, since.empty() ? kListedEnded : 100000);
  if (!jobs) return complain(jobs.error());
  std::string out = table(*jobs, view::display_context_from_environment());
  if (const std::string summary = view::my_jobs_summary({jobs->queued, jobs->ended}); !summary.empty())
    out += "\n" + summary + "\n";
  view::write_bytes(out);
  return 0;
}

}  // namespace minke::cli
