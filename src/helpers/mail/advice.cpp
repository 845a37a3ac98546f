#include "helpers/mail/advice.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <csignal>

#include "api/accounting.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/step_record.pb.h"
#include "text/duration.h"
#include "view/text.h"

namespace minke::helpers {

namespace {

using model::JobRecord;

// Words of a log that explain a failure better than an exit code does.
struct Sign {
  std::string_view words;
  std::string_view advice;
};
constexpr Sign kSigns[] = {
    {"CUDA out of memory",
     "The GPU's memory was full: a smaller batch, gradient checkpointing, lower precision, or a larger GPU."},
    {"OutOfMemoryError",
     "The GPU's memory was full: a smaller batch, gradient checkpointing, lower precision, or a larger GPU."},
    {"No CUDA GPUs are available",
     "The program saw no GPU: ask for one, for instance with --gpus-per-node=1."},
    {"ModuleNotFoundError",
     "A Python module is missing: activate the environment in the script, or install the module there."},
    {"command not found",
     "A command was not found: load its module, or activate its environment, in the script."},
    {"Disk quota exceeded", "A quota is full: remove files, or write elsewhere."},
    {"No space left on device",
     "A disk is full: remove files, or write elsewhere; --tmp=SIZE asks for room in $SLURM_TMPDIR."},
    {"Permission denied",
     "A file could not be opened or run: look at its rights, and at those of its directories."},
    {"Address already in use",
     "A port was taken: choose one by the job's number, such as $((10000 + SLURM_JOB_ID % 50000))."},
};

// The word between `before` and `after` in a line of the log; empty: there is none, or it is none of a
// program's or module's.
std::string_view word_in(std::string_view log, std::string_view before, std::string_view after) {
  const size_t end = log.find(after);
  if (end == std::string_view::npos) return {};
  std::string_view line = log.substr(0, end);
  line.remove_prefix(line.rfind('\n') == std::string_view::npos ? 0 : line.rfind('\n') + 1);
  const size_t begin = line.rfind(before);
  std::string_view word = begin == std::string_view::npos ? line : line.substr(begin + before.size());
  const bool is_plain = std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '+';
  });
  return is_plain && word.size() < 64 ? word : std::string_view();
}

// Which command or module is missing, and where to look for it.
void about_missing(std::string_view log, std::vector<std::string>& out) {
  if (const auto command = word_in(log, ": ", ": command not found"); !command.empty())
    out.push_back(
        fmt::format("{} is not there: \"module spider {}\" tells which module has it.", command, command));
  const size_t named = log.find("No module named '");
  if (named == std::string_view::npos) return;
  std::string_view rest = log.substr(named + 17);
  std::string_view module = rest.substr(0, rest.find('\''));
  module = module.substr(0, module.find('.'));
  if (!module.empty() && module.size() < 64 && module.find_first_of("\n ;|&$`\"") == std::string_view::npos)
    out.push_back(
        fmt::format("Python's {0} is not there: \"avail_wheels {0}\" tells what pip can install.", module));
}

double used_kib(const api::AccountedJob& accounted) {
  double most = static_cast<double>(accounted.job().usage().max_rss_kib());
  for (const model::StepRecord& step : accounted.steps())
    most = std::max(most, static_cast<double>(step.usage().max_rss_kib()) * std::max(1u, step.num_tasks()));
  return most;
}

std::string gib(double mib) {
  return mib >= 1024 ? fmt::format("{:.0f}G", std::ceil(mib / 1024)) : fmt::format("{:.0f}M", std::ceil(mib));
}

// Returns hours and minutes that are easy to read and not less than `seconds`.
std::string round_time(int64_t seconds) {
  const int64_t unit = seconds > 7200 ? 3600 : seconds > 1200 ? 600 : 60;
  return text::format_seconds((seconds + unit - 1) / unit * unit);
}

void about_waste(const api::AccountedJob& accounted, std::vector<std::string>& out) {
  const JobRecord& job = accounted.job();
  const int64_t ran = view::elapsed_seconds(job, job.end_time());
  if (ran < 60) return;  // too short to judge
  const double held = static_cast<double>(job.memory_mib()), used = used_kib(accounted) / 1024;
  if (held >= 1024 && used > 0 && used < held / 2) {
    out.push_back(
        fmt::format("It used {} of the {} of memory that it held: --mem={} would do, and start sooner.",
                    gib(used), gib(held), gib(std::max(256.0, used * 1.25))));
  }
  const double busy =
      static_cast<double>(job.usage().user_microseconds() + job.usage().system_microseconds()) / 1e6 /
      static_cast<double>(ran);
  if (job.num_cpus() > 1 && busy < 0.5 * job.num_cpus()) {
    out.push_back(
        fmt::format("Of its {} CPUs {:.1f} were busy on average: ask for fewer, or start as many threads.",
                    job.num_cpus(), busy));
  }
  const int64_t limit = int64_t{job.time_limit_minutes()} * 60;
  if (job.time_limit_minutes() != text::kUnlimited && limit >= 3600 && ran < limit / 4 &&
      job.state() == model::JOB_COMPLETE) {
    out.push_back(fmt::format("It ran for {} of the {} that it asked for: --time={} would start sooner.",
                              text::format_seconds(ran), text::format_seconds(limit),
                              round_time(ran * 3 / 2)));
  }
}

}  // namespace

std::vector<std::string> advice(const api::AccountedJob& accounted, std::string_view log) {
  const JobRecord& job = accounted.job();
  std::vector<std::string> out;
  const bool bad = view::is_finished(job.state()) && job.state() != model::JOB_COMPLETE &&
                   job.state() != model::JOB_CANCELLED;
  if (bad) {
    for (const Sign& sign : kSigns) {
      if (log.find(sign.words) == std::string_view::npos) continue;
      if (std::find(out.begin(), out.end(), sign.advice) == out.end()) out.emplace_back(sign.advice);
    }
    about_missing(log, out);
  }
  switch (job.state()) {
    case model::JOB_TIMEOUT:
      out.push_back(
          fmt::format("It was stopped at its time limit: --time={} if it was nearly done; or let it save its "
                      "state when it is "
                      "warned (--signal=B:USR1@300) and go on in parts (minke chain).",
                      round_time(int64_t{job.time_limit_minutes()} * 90)));
      break;
    case model::JOB_OOM:
      out.push_back(fmt::format("It needed more memory than the {} that it held: --mem={}.",
                                gib(static_cast<double>(job.memory_mib())),
                                gib(static_cast<double>(job.memory_mib()) * 2)));
      break;
    case model::JOB_NODE_FAIL:
      out.emplace_back(
          "The machine failed, not the job: submit it again, or let it be requeued (--requeue).");
      break;
    case model::JOB_DEADLINE:
      out.emplace_back(
          "It could no longer end before its deadline: a later --deadline, or a shorter --time.");
      break;
    case model::JOB_FAILED:
      if (WIFSIGNALED(job.exit_code()) && WTERMSIG(job.exit_code()) == SIGSEGV)
        out.emplace_back("It crashed (segmentation fault): a bug, or libraries that do not fit together.");
      if (WIFSIGNALED(job.exit_code()) && WTERMSIG(job.exit_code()) == SIGKILL)
        out.emplace_back(
            "Nobody can catch signal 9 (KILL). If no person sent it, the kernel did, for memory was short: "
            "ask for more with --mem.");
      if (WIFEXITED(job.exit_code()) && WEXITSTATUS(job.exit_code()) == 126)
        out.emplace_back("Exit code 126: something that is no program, or may not be run, was called.");
      if (WIFEXITED(job.exit_code()) && WEXITSTATUS(job.exit_code()) == 127 && out.empty())
        out.emplace_back(
            "Exit code 127: a command was not found. Load its module, or activate its environment.");
      break;
    default:
      break;
  }
  if (view::is_finished(job.state())) about_waste(accounted, out);
  return out;
}

}  // namespace minke::helpers
