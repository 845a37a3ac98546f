// sqjobs, sqhosts: SHARCNET's commands to show jobs and nodes. Their columns and totals are those that
// programs which drive sqjobs expect.
#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <optional>
#include <string>

#include "api/job_filter.pb.h"
#include "cli/commands.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "os/user_id.h"
#include "submit/sqsub.h"
#include "text/duration.h"
#include "text/job_id.h"
#include "text/printable.h"
#include "view/text.h"

namespace minke::cli {

namespace {

constexpr const char* kUsage =
    "usage: sqjobs [-a] [-u user] [-r] [-q] [-n] [-l] [jobid ...]\n"
    "  -a        jobs of all users\n"
    "  -u user   jobs of this user\n"
    "  -r, -q    only those that run, only those that wait\n"
    "  -n        only the totals\n"
    "  -l        all about each job\n";

int complain(const std::string& message) {
  std::fprintf(stderr, "sqjobs: %s\n", message.c_str());
  return 1;
}

// R running, Q queued, *Q waiting for other jobs, Z waiting for its time, S suspended, H
// held, K killed, D done.
std::string_view state_letter(const model::JobRecord& job) {
  switch (job.state()) {
    case model::JOB_RUNNING:
      return "R";
    case model::JOB_SUSPENDED:
      return "S";
    case model::JOB_CANCELLED:
      return "K";
    case model::JOB_PENDING:
      break;
    default:
      return "D";
  }
  switch (job.reason()) {
    case model::WAIT_HELD:
    case model::WAIT_HELD_USER:
      return "H";
    case model::WAIT_DEPENDENCY:
    case model::WAIT_DEP_INVALID:
      return "*Q";
    case model::WAIT_TIME:
      return "Z";
    default:
      return "Q";
  }
}

// "~alice/x.sh": shortens a home directory.
std::string short_path(const std::string& path, uint32_t uid) {
  const passwd* entry = getpwuid(uid);
  if (entry == nullptr) return path;
  const std::string home = std::string(entry->pw_dir) + "/";
  if (home.size() < 2 || !path.starts_with(home)) return path;
  return std::string("~").append(entry->pw_name).append("/").append(path, home.size());
}

std::string command_of(const model::JobRecord& job) {
  std::string out;
  for (const std::string& argument : job.spec().arguments()) {
    if (!out.empty()) out += ' ';
    out += out.empty() ? short_path(argument, job.uid()) : argument;
  }
  return out.empty() ? std::string(job.spec().name()) : out;
}

std::string queue_of(const model::JobRecord& job) {
  const std::string_view queue = submit::sqsub_queue(job.spec().extra());
  return queue.empty() ? std::string(job.partition()) : std::string(queue);
}

std::string id_of(const model::JobRecord& job) {
  std::string out;
  view::append_job_id(out, job, nullptr, 0);
  return out;
}

void print_row(const model::JobRecord& job, int64_t now) {
  const bool started = job.state() != model::JOB_PENDING;
  const std::string time = started ? std::to_string(view::elapsed_seconds(job, now)) + "s" : "-";
  const std::string nodes = started && !job.node_list().empty() ? std::string(job.node_list()) : "-";
  std::printf("%6s %5s %5s %5u %4u %6s %4s %s\n", id_of(job).c_str(), text::printable(queue_of(job)).c_str(),
              std::string(state_letter(job)).c_str(), job.num_cpus(), job.priority(), nodes.c_str(),
              time.c_str(), text::printable(command_of(job)).c_str());
}

std::string date_text(int64_t time) {
  char buffer[64];
  const std::time_t seconds = time;
  std::tm local{};
  if (time == 0 || localtime_r(&seconds, &local) == nullptr) return "";
  std::strftime(buffer, sizeof(buffer), "%a %b %d %H:%M:%S %Y", &local);
  return buffer;
}

void print_long(const model::JobRecord& job) {
  const auto line = [](const char* key, const std::string& value) {
    std::printf("%s: %s\n", key, text::printable(value).c_str());
  };
  const std::string key = id_of(job);
  line("key", key);
  line("jobid", key);
  line("queue", queue_of(job));
  line("ncpus", std::to_string(job.num_cpus()));
  line("nodes", job.node_list());
  line("command", command_of(job));
  line("working directory", job.spec().work_dir());
  line("out file", job.stdout_path());
  line("submitted", date_text(job.submit_time()));
  line("started", job.state() == model::JOB_PENDING ? "" : date_text(job.start_time()));
  line("should end", job.state() == model::JOB_PENDING ? "" : date_text(view::end_time(job)));
  const uint64_t minutes = job.time_limit_minutes();
  line("elapsed limit", minutes == text::kUnlimited ? "unlimited" : std::to_string(minutes * 60) + "s");
  line("virtual mem limit", std::to_string(job.memory_mib()) + "M");
  line("state", std::string(state_letter(job)));
}

int print_totals(engine::Engine& cluster, const engine::JobRecords& jobs) {
  auto nodes = engine::fetch_nodes(cluster);
  if (!nodes) return complain(nodes.error().message);
  uint64_t total = 0, busy = 0, running = 0, suspended = 0, queued = 0;
  for (const model::NodeRecord* node : nodes->records) {
    total += node->cpus();
    busy += node->allocated_cpus();
  }
  for (const model::JobRecord* job : jobs.records) {
    running += job->state() == model::JOB_RUNNING;
    suspended += job->state() == model::JOB_SUSPENDED;
    if (job->state() != model::JOB_PENDING) continue;
    uint64_t tasks = 0;
    for (const model::IndexRange& range : job->array_pending().ranges())
      tasks += (range.last() - range.first()) / std::max(range.step(), 1u) + 1;
    queued += std::max<uint64_t>(tasks, 1);
  }
  std::printf(
      "%lu CPUs total, %lu idle, %lu busy; %lu jobs running; %lu suspended, %lu queued.\n0 reserved cpus\n",
      total, total - std::min(total, busy), busy, running, suspended, queued);
  return 0;
}

struct Options {
  api::JobFilter filter;
  bool all_users = false, running = false, queued = false, totals = false, in_full = false;
};

// Returns the exit code if the command is over: help, or an error that was printed.
std::optional<int> read_options(int argc, char** argv, Options& options) {
  int option = 0;
  while ((option = ::getopt(argc, argv, "au:rqnlh")) != -1) {
    switch (option) {
      case 'a':
        options.all_users = true;
        break;
      case 'u': {
        const auto uid = os::user_id_of(optarg);
        if (!uid) return complain(uid.error().message);
        options.filter.add_uids(*uid);
        break;
      }
      case 'r':
        options.running = true;
        break;
      case 'q':
        options.queued = true;
        break;
      case 'n':
        options.totals = true;
        break;
      case 'l':
        options.in_full = true;
        break;
      default:
        std::fputs(kUsage, option == 'h' ? stdout : stderr);
        return option == 'h' ? 0 : 1;
    }
  }
  return std::nullopt;
}

// Reads the named jobs; without any, the caller's own.
Status read_jobs(int argc, char** argv, Options& options) {
  api::JobFilter& filter = options.filter;
  for (int i = optind; i < argc; ++i) {
    const auto named = text::parse_job_id_list(argv[i]);
    if (!named) return failure(std::string("not a job id: ") + argv[i]);
    for (const text::JobReference& job : *named) *filter.add_jobs() = engine::selector_of(job);
    filter.set_all_states(true);
  }
  if (filter.jobs_size() == 0 && filter.uids_size() == 0 && !options.all_users && !options.totals)
    filter.add_uids(::getuid());
  return {};
}

void print_jobs(const engine::JobRecords& jobs, const Options& options) {
  if (!options.in_full) {
    std::puts(" jobid queue state ncpus prio  nodes time command");
    std::puts("------ ----- ----- ----- ---- ------ ---- ------------");
  }
  for (const model::JobRecord* job : jobs.records) {
    if (options.running && job->state() != model::JOB_RUNNING) continue;
    if (options.queued && job->state() != model::JOB_PENDING) continue;
    if (options.in_full) {
      print_long(*job);
    } else {
      print_row(*job, jobs.now);
    }
  }
}

}  // namespace

int sqjobs_main(int argc, char** argv) {
  Options options;
  if (const auto over = read_options(argc, argv, options)) return *over;
  if (const Status read = read_jobs(argc, argv, options); !read) return complain(read.error().message);
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error().message);
  const auto jobs = engine::fetch_jobs(**cluster, options.totals ? api::JobFilter() : options.filter);
  if (!jobs) return complain(jobs.error().message);
  if (options.totals) return print_totals(**cluster, *jobs);
  if (options.filter.jobs_size() != 0 && jobs->records.empty()) return complain("no such job");
  print_jobs(*jobs, options);
  return std::fflush(stdout) == 0 ? 0 : complain("standard output cannot be written");
}

int sqhosts_main(int, char**) {
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error().message);
  const auto nodes = engine::fetch_nodes(**cluster);
  if (!nodes) return complain(nodes.error().message);
  std::puts("hostname            state  ncpus  busy  load  memory");
  std::puts("------------------- ------ ----- ----- ----- -------");
  for (const model::NodeRecord* node : nodes->records) {
    const bool down = node->state() == model::NODE_DOWN || node->state() == model::NODE_DOWN_DRAIN;
    const char* state = node->state() == model::NODE_IDLE ? "up" : down ? "down" : "drain";
    std::printf("%-19s %-6s %5u %5u %5.2f %6luM\n", std::string(node->name()).c_str(), state, node->cpus(),
                node->allocated_cpus(), node->cpu_load(), node->memory_mib());
  }
  return 0;
}

}  // namespace minke::cli
