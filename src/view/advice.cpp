#include "view/advice.h"

#include <fmt/format.h>

#include "api/accounting.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "text/number.h"
#include "view/efficiency.h"
#include "view/text.h"

namespace minke::view {
namespace {

using model::JobRecord;

constexpr int64_t kShort = 3600;        // s
constexpr int64_t kTooSoonToSay = 120;  // s

void advise_on_processors(const Efficiency& used, double threads, std::vector<Advice>& all) {
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
  if (threads > 1.25 * cores) {
    all.push_back({"oversubscribed",
                   Weight::kWarning,
                   "cpu",
                   fmt::format("{:.1f} threads ran on average on {} cores: these may be oversubscribed",
                               threads, used.cores),
                   {{"cores", cores}, {"threads", threads}}});
  }
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
                   Weight::kInfo,
                   "time",
                   fmt::format("Less than 1 hour was asked for: {}", kTogether),
                   {{"limit_minutes", job.time_limit_minutes()}}});
  } else if (used.wall_seconds < kShort) {
    all.push_back({"short_run",
                   Weight::kWarning,
                   "time",
                   fmt::format("Less than 1 hour was used: {}", kTogether),
                   {{"seconds", static_cast<double>(used.wall_seconds)}}});
  }
}

// Whether a line calls the command, somewhere behind the beginning of a command.
bool calls_command(std::string_view line, std::string_view command) {
  const std::string_view words = text::trim(line);
  return words == command || (words.starts_with(command) && words[command.size()] == ' ');
}

void advise_on_script(std::string_view script, std::vector<Advice>& all) {
  double number = 0;
  for (const std::string_view line : text::split(script, '\n')) {
    ++number;
    if (calls_command(line, "sleep"))
      all.push_back({"sleep",
                     Weight::kCritical,
                     "script",
                     fmt::format("Line {:.0f}: sleep holds what was allocated, and does nothing", number),
                     {{"line", number}}});
    if (calls_command(line, "conda activate") || calls_command(line, "source activate"))
      all.push_back(
          {"conda",
           Weight::kWarning,
           "script",
           fmt::format("Line {:.0f}: a conda environment; a virtual environment of wheels built for "
                       "the cluster starts faster",
                       number),
           {{"line", number}}});
  }
}

}  // namespace

std::vector<Advice> advice_on(const api::AccountedJob& accounted, std::string_view script,
                              double running_threads, int64_t now) {
  const JobRecord& job = accounted.job();
  std::vector<Advice> all;
  const Efficiency used = efficiency_of(accounted, now);
  if (job.state() != model::JOB_PENDING && (is_finished(job.state()) || used.wall_seconds >= kTooSoonToSay)) {
    if (used.wall_seconds > 0 && used.cpu_seconds + static_cast<int64_t>(used.memory_kib) > 0) {
      advise_on_processors(used, running_threads, all);
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
  if (script.size() < 1 << 20) advise_on_script(script, all);
  if (all.size() > 50) all.resize(50);
  return all;
}

std::string_view weight_word(Weight weight) {
  return weight == Weight::kInfo ? "info" : weight == Weight::kWarning ? "warning" : "critical";
}

}  // namespace minke::view
