// The rows of /api/v1/jobs.
#include "portal/job_answers.h"

namespace minke::portal {
namespace {

constexpr int64_t kLatest = int64_t{1} << 40;  // s since the epoch
constexpr Parameter kJob{"job", "12, an array's task 12_3, a component 12+1", Kind::kJob, In::kPath};
constexpr Parameter kUser{"user", "whose; me: one's own", Kind::kText, In::kQuery, 1, 256};
constexpr Parameter kAccount{"account", "that they are charged to", Kind::kText, In::kQuery, 1, 256};
constexpr Parameter kPartition{"partition", "where they run or wait", Kind::kText, In::kQuery, 1, 256};
constexpr Parameter kState{"state", "Slurm's words, a list: PENDING,RUNNING", Kind::kText, In::kQuery, 1,
                           256};
constexpr Parameter kSearch{
    "search", "a part of the name, or numbers: 12, 100-105,107", Kind::kText, In::kQuery, 1, 256};
constexpr Parameter kLimit{"limit", "at most so many", Kind::kNumber, In::kQuery, 1, 1000};

constexpr Parameter kList[] = {kUser,
                               kAccount,
                               kPartition,
                               kState,
                               kSearch,
                               kLimit,
                               {"offset", "how many to pass over", Kind::kNumber, In::kQuery, 0, 100'000'000},
                               {"sort", "by what; with - the largest first", Kind::kWord, In::kQuery, 0, 0,
                                "id|-id|name|-name|user|-user|account|-account|partition|-partition|state|-"
                                "state|submit|-submit|start|-start|"
                                "end|-end|priority|-priority|cpus|-cpus|limit|-limit"}};
constexpr Parameter kEnded[] = {
    kUser,
    kAccount,
    kPartition,
    kState,
    kSearch,
    kLimit,
    {"since", "none that ended earlier; s since the epoch", Kind::kTime, In::kQuery, 0, kLatest},
    {"before", "what the last page said", Kind::kTime, In::kQuery, 0, kLatest},
    {"before_id", "what the last page said", Kind::kNumber, In::kQuery, 0, 4294967295}};
constexpr Parameter kOne[] = {kJob};
constexpr Parameter kOutput[] = {
    kJob,
    {"stream", "which", Kind::kWord, In::kQuery, 0, 0, "stdout|stderr"},
    {"offset", "from this byte on", Kind::kNumber, In::kQuery, 0, int64_t{1} << 60},
    {"tail", "or so many bytes at the end", Kind::kNumber, In::kQuery, 1, 262144}};
constexpr Parameter kNewLimit[] = {kJob,
                                   {"time_limit",
                                    "minutes, hours:minutes:seconds, days-hours, UNLIMITED",
                                    Kind::kText,
                                    In::kBody,
                                    1,
                                    32,
                                    {},
                                    true}};

constexpr Route kRoutes[] = {
    {"GET", "/api/v1/jobs", Who::kVisitor, "the queue, and what ended a moment ago", list_jobs, "jobs",
     kList},
    {"POST",
     "/api/v1/jobs",
     Who::kVisitor,
     "sbatch: {script, options, test}",
     submit_job,
     "submitted",
     {},
     false,
     true},
    {"GET", "/api/v1/jobs/ended", Who::kVisitor, "jobs that ended, the newest first", list_ended_jobs,
     "ended_jobs", kEnded},
    {"GET", "/api/v1/jobs/{job}", Who::kVisitor, "one job", show_job, "job_page", kOne},
    {"GET", "/api/v1/jobs/{job}/tasks", Who::kVisitor, "an array's tasks", show_job_tasks, "tasks", kOne},
    {"GET", "/api/v1/jobs/{job}/related", Who::kVisitor, "jobs and events that concern it", show_related,
     "related", kOne},
    {"GET", "/api/v1/jobs/{job}/script", Who::kVisitor, "its script", show_script, "script", kOne},
    {"GET", "/api/v1/jobs/{job}/output", Who::kVisitor, "a piece of what it wrote", show_output, "output",
     kOutput},
    {"GET", "/api/v1/jobs/{job}/why", Who::kVisitor, "why it waits, or how it ended", show_why, "why", kOne},
    {"GET", "/api/v1/jobs/{job}/measurements", Who::kVisitor, "what it uses and used", show_measurements,
     "measurements", kOne},
    {"GET", "/api/v1/jobs/{job}/metrics", Who::kVisitor, "what its training wrote", show_metrics, "metrics",
     kOne},
    {"POST", "/api/v1/jobs/{job}/cancel", Who::kVisitor, "scancel", cancel_job, "changed", kOne},
    {"POST", "/api/v1/jobs/{job}/hold", Who::kVisitor, "scontrol hold", hold_job, "changed", kOne},
    {"POST", "/api/v1/jobs/{job}/release", Who::kVisitor, "scontrol release", release_job, "changed", kOne},
    {"POST", "/api/v1/jobs/{job}/requeue", Who::kVisitor, "scontrol requeue", requeue_job, "changed", kOne},
    {"POST", "/api/v1/jobs/{job}/limit", Who::kVisitor, "scontrol update TimeLimit", limit_job, "changed",
     kNewLimit},
};

}  // namespace

std::span<const Route> job_routes() {
  return kRoutes;
}

}  // namespace minke::portal
