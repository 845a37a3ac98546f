#include "view/advice.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/accounting.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/measurement.pb.h"
#include "view/efficiency.h"
#include "view/program_advice.h"
#include "view/script_commands.h"
#include "view/text.h"
#include "view/waste.h"

namespace minke::view {
namespace {

using model::JobRecord;

constexpr int64_t kShort = 3600;        // s
constexpr int64_t kTooSoonToSay = 120;  // s

void advise_on_processors(const Efficiency& used, std::vector<Advice>& all) {
  if (used.core_seconds == 0) return;
  const double busy = static_cast<double>(used.cpu_seconds) / static_cast<double>(used.wall_seconds);
  const auto cores = static_cast<double>(used.cores);
  if (busy < 1 && used.cores > 1) {
    all.push_back(
        {"serial",
         Weight::kCritical,
         "cpu",
         fmt::format("Less than 1 core was used on average but {} were asked for: this looks like a "
                     "serial job",
                     used.cores),
         {{"cores", cores}, {"used", busy}}});
  } else if (busy < cores / 2) {
    all.push_back(
        {"half",
         Weight::kCritical,
         "cpu",
         fmt::format("Less than half of the processors' time was used: {:.1f} of {} cores on average", busy,
                     used.cores),
         {{"cores", cores}, {"used", busy}}});
  }
}

// Threads that run, beside the cores that they have; and all of them, which should not be more than twice as
// many.
void advise_on_threads(const ThreadsMeasured& threads, int64_t held, std::vector<Advice>& all) {
  constexpr double kMany = 1.25, kFew = 0.75, kMost = 2;
  const auto cores = static_cast<double>(held);
  const std::vector<std::pair<std::string_view, double>> numbers = {{"cores", cores},
                                                                    {"threads", threads.running}};
  if (threads.running > kMany * cores) {
    all.push_back({"oversubscribed", Weight::kWarning, "cpu",
                   fmt::format("{:.1f} threads ran on average on {} cores: these may be oversubscribed",
                               threads.running, held),
                   numbers});
  } else if (threads.running < kFew * cores) {
    all.push_back({"underused", Weight::kWarning, "cpu",
                   fmt::format("{:.1f} threads ran on average on {} cores: these may be underused",
                               threads.running, held),
                   numbers});
  }
  if (threads.all > kMost * cores)
    all.push_back({"many_threads",
                   Weight::kWarning,
                   "cpu",
                   fmt::format("There were {:.1f} threads on {} cores on average: more than two for each",
                               threads.all, held),
                   {{"cores", cores}, {"threads", threads.all}}});
}

void advise_on_memory(const JobRecord& job, const Efficiency& used, std::vector<Advice>& all) {
  if (job.state() == model::JOB_OOM) {
    all.push_back({"out_of_memory",
                   Weight::kCritical,
                   "memory",
                   "It ran out of memory: ask for more, and try again",
                   {{"held_kib", used.held_kib}, {"used_kib", used.memory_kib}}});
  } else if (used.held_kib > 0 && used.memory_kib > 0 && used.memory_kib < used.held_kib / 10) {
    all.push_back({"little_memory",
                   Weight::kCritical,
                   "memory",
                   fmt::format("Less than 10% of the memory asked for was used ({:.1f}%): ask for less",
                               used.memory_percent()),
                   {{"held_kib", used.held_kib}, {"used_kib", used.memory_kib}}});
  }
}

void advise_on_gpus(const Efficiency& used, std::vector<Advice>& all) {
  constexpr double kSmall = 40, kSmallMemory = 20;  // percent and GB: what a part of a GPU has room for
  if (used.gpus == 0) return;
  const double percent = used.gpu_percent;
  if (percent < 1) {
    all.push_back({"unused_gpu",
                   Weight::kCritical,
                   "gpu",
                   "Its GPUs were not used at all",
                   {{"gpus", static_cast<double>(used.gpus)}, {"percent", percent}}});
  } else if (percent < 20) {
    all.push_back(
        {"idle_gpu",
         percent < 10 ? Weight::kCritical : Weight::kWarning,
         "gpu",
         fmt::format("Its GPUs were busy for {:.0f}% of the time: a part of a GPU may be enough", percent),
         {{"gpus", static_cast<double>(used.gpus)}, {"percent", percent}}});
  } else if (const double gigabytes = used.gpu_memory_kib * 1024 / 1e9 / used.gpus;
             percent <= kSmall && gigabytes < kSmallMemory) {
    all.push_back(
        {"part_of_gpu",
         Weight::kInfo,
         "gpu",
         fmt::format("Its GPUs were busy for {:.0f}% of the time, with {:.1f} GB of memory each: a part of a "
                     "GPU (MIG) may be enough",
                     percent, gigabytes),
         {{"gpus", static_cast<double>(used.gpus)}, {"percent", percent}, {"gigabytes", gigabytes}}});
  }
}

void advise_on_time(const JobRecord& job, const Efficiency& used, std::vector<Advice>& all) {
  if (job.state() == model::JOB_NODE_FAIL)
    all.push_back({"node_failure", Weight::kCritical, "time",
                   "Its node failed: that passes, and is probably not the job's fault"});
  if (job.state() == model::JOB_TIMEOUT)
    all.push_back({"timeout",
                   Weight::kWarning,
                   "time",
                   "It was stopped by its time limit: ask for more, or save checkpoints and continue",
                   {{"limit_minutes", job.time_limit_minutes()}}});
  if (job.state() != model::JOB_COMPLETE) return;
  constexpr const char* kTogether =
      "pack short jobs together (GNU parallel, GLOST) if there are 100 of them or more";
  if (job.time_limit_minutes() < 60) {
    all.push_back({"short_limit",
                   Weight::kCritical,
                   "time",
                   fmt::format("Less than 1 hour was asked for: {}", kTogether),
                   {{"limit_minutes", job.time_limit_minutes()}}});
  }
  if (used.wall_seconds < kShort) {
    all.push_back({"short_run",
                   Weight::kWarning,
                   "time",
                   fmt::format("Less than 1 hour was used: {}", kTogether),
                   {{"seconds", static_cast<double>(used.wall_seconds)}}});
  }
}

void advise_on_commands(const std::vector<ScriptCommand>& commands, std::vector<Advice>& all) {
  for (const ScriptCommand& command : commands) {
    const std::string& name = command.words[0];
    const auto line = static_cast<double>(command.line);
    if (program_name(name) == "sleep")
      all.push_back({"sleep",
                     Weight::kCritical,
                     "script",
                     fmt::format("Line {}: sleep holds what was allocated, and does nothing", command.line),
                     {{"line", line}}});
    if ((name == "conda" || name == "source") && command.words.size() > 1 && command.words[1] == "activate")
      all.push_back({"conda",
                     Weight::kCritical,
                     "script",
                     fmt::format("Line {}: a conda environment; a virtual environment of wheels built for "
                                 "the cluster starts faster",
                                 command.line),
                     {{"line", line}}});
  }
}

HeldByPrograms held_by(const JobRecord& job) {
  HeldByPrograms held;
  held.tasks = std::max(1u, job.num_tasks());
  held.cores = std::max(1u, job.num_cpus());
  held.nodes = std::max(1u, job.num_nodes());
  held.cores_per_task =
      std::max(1u, job.spec().has_cpus_per_task() ? job.spec().cpus_per_task() : held.cores / held.tasks);
  held.gpus = held_gpus(job);
  return held;
}

}  // namespace

std::optional<ThreadsMeasured> threads_measured(const model::Series& series) {
  const int samples = std::min(series.threads_size(), series.running_threads_size());
  int64_t all = 0, running = 0;  // columns hold differences
  ThreadsMeasured sum;
  for (int i = 0; i < samples; ++i) {
    sum.all += static_cast<double>(all += series.threads(i));
    sum.running += static_cast<double>(running += series.running_threads(i));
  }
  if (sum.all <= 0) return std::nullopt;
  return ThreadsMeasured{sum.running / samples, sum.all / samples};
}

std::vector<Advice> advice_on(const api::AccountedJob& accounted, std::string_view script,
                              const std::optional<ThreadsMeasured>& threads, int64_t now) {
  const JobRecord& job = accounted.job();
  std::vector<Advice> all;
  const Efficiency used = efficiency_of(accounted, now);
  if (job.state() != model::JOB_PENDING && (is_finished(job.state()) || used.wall_seconds >= kTooSoonToSay)) {
    if (used.wall_seconds > 0 && used.cpu_seconds + static_cast<int64_t>(used.memory_kib) > 0) {
      advise_on_processors(used, all);
      if (threads) advise_on_threads(*threads, used.cores, all);
      advise_on_memory(job, used, all);
      advise_on_gpus(used, all);
    }
    advise_on_time(job, used, all);
    if (job.num_nodes() > 1)
      all.push_back({"nodes",
                     Weight::kInfo,
                     "cpu",
                     fmt::format("It used {} nodes", job.num_nodes()),
                     {{"nodes", job.num_nodes()}}});
  }
  const std::vector<ScriptCommand> commands = script_commands(script);
  advise_on_commands(commands, all);
  advise_on_programs(commands, held_by(job), all);
  if (all.size() > 50) all.resize(50);
  return all;
}

std::string_view weight_word(Weight weight) {
  return weight == Weight::kInfo ? "info" : weight == Weight::kWarning ? "warning" : "critical";
}

}  // namespace minke::view
