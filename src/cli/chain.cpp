#include "cli/chain.h"

#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "api/submission.pb.h"
#include "cli/batch_submission.h"
#include "cli/links.h"
#include "cli/srun/launch_environment.h"
#include "engine/open.h"
#include "helpers/checkpoint.h"
#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"
#include "os/minke_home.h"
#include "os/this_program.h"
#include "submit/job_request.h"
#include "text/chain_comment.h"
#include "text/duration.h"
#include "text/printable.h"
#include "text/shell_quote.h"
#include "text/signal_name.h"
#include "view/output.h"

namespace minke::cli {

namespace {

constexpr char kUsage[] =
    "Usage: minke chain --total TIME --each TIME [--warn TIME] [--checkpoint=auto] [sbatch's options] script "
    "[arguments]\n"
    "\n"
    "Runs a job script in parts of --each until it is done, or has run for --total.\n"
    "  --total TIME   how long all parts may run together\n"
    "  --each TIME    time limit of each part\n"
    "  --warn TIME    how long before its end a part is sent SIGUSR1 (default: 5 minutes, a tenth of a part "
    "at most)\n"
    "  --checkpoint=auto   keep the state of a program that cannot save it by itself (CRIU)\n"
    "\n"
    "Times are Slurm's: 30 (minutes), 1:30:00, 2-12. \"72h\", \"90m\" and \"3d\" are understood, too.\n"
    "What a part says by its end, and what programs must do: docs/chains.md\n";

// Reads Slurm's forms, or a number with h, m, s or d behind it; returns seconds.
Result<int64_t> parse_time(std::string_view text) {
  if (text.size() > 1) {
    const int64_t unit = text.back() == 'h'   ? 3600
                         : text.back() == 'm' ? 60
                         : text.back() == 's' ? 1
                         : text.back() == 'd' ? 86400
                                              : 0;
    const auto digits = text.substr(0, text.size() - 1);
    const bool number =
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (unit != 0 && number && digits.size() < 9) return std::stoll(std::string(digits)) * unit;
  }
  return text::parse_seconds(text);
}

int complain(const std::string& message) {
  view::print_error("minke chain", message);
  return 1;
}

struct Times {
  int64_t total = 0, each = 0, warn = 0;  // s
  bool checkpoint = false;
};

// Reads the options of the chain itself, and leaves those of sbatch in argv from `first` on. Fails with
// the text to print.
Result<Times> read_times(int argc, char** argv, int& first) {
  Times times;
  for (first = 1; first < argc; ++first) {
    std::string_view word = argv[first], value;
    int64_t* time = nullptr;
    if (word.starts_with("--checkpoint")) {
      if (word != "--checkpoint=auto") return failure("it is --checkpoint=auto");
      times.checkpoint = true;
      continue;
    }
    for (const auto& [name, place] :
         {std::pair{"--total", &times.total}, {"--each", &times.each}, {"--warn", &times.warn}}) {
      const std::string_view option = name;
      if (word == option && first + 1 < argc) {
        value = argv[++first];
        time = place;
      } else if (word.starts_with(option) && word.substr(option.size()).starts_with('=')) {
        value = word.substr(option.size() + 1);
        time = place;
      }
    }
    if (time == nullptr) break;
    const auto read = parse_time(value);
    if (!read || *read <= 0)
      return failure("invalid time: " + text::printable(value) +
                     "; write 30 (minutes), 1:30:00, 2-12, 72h or 3d");
    *time = *read;
  }
  if (times.total == 0 || times.each == 0)
    return failure("--total and --each are needed, for example: minke chain --total 72h --each 24h job.sh");
  if (times.total < times.each)
    return failure("--total " + text::format_seconds(times.total) + " is less than one part of --each " +
                   text::format_seconds(times.each) +
                   ": a job of --time=" + text::format_seconds(times.total) + " does it, without a chain");
  if (times.each % 60 != 0) times.each += 60 - times.each % 60;  // time limits are in minutes
  if (times.warn == 0) times.warn = std::min<int64_t>(300, times.each / 10);
  if (times.warn >= times.each) return failure("--warn must be shorter than --each");
  if (times.warn > 65535) return failure("--warn is 18:12:15 at most");
  return times;
}

// Returns the option of sbatch that a chain cannot have; empty if there is none.
std::string cannot_be_a_chain(const submit::JobRequest& request) {
  if (!request.het_components.empty()) return "a heterogeneous job cannot be a chain";
  if (request.given.contains("time") && request.given.at("time") == submit::Source::kCommandLine)
    return "--each is the time limit of each part; leave --time out";
  if (request.spec.has_requeue() && !request.spec.requeue())
    return "the parts of a chain are runs of one job: it cannot be with --no-requeue";
  return "";
}

uint32_t number_of_parts(const Times& times) {
  return text::chain_parts(times.total, times.each, times.warn);
}

// Turns the job into one that runs a part, is warned before its end, and is requeued for the next part.
Status make_parts(const Times& times, model::JobSpec& spec) {
  // If the script chooses its own signal (submitit: USR2), its program still gets that one.
  model::WarningSignal& warning = *spec.mutable_warning_signal();
  if (warning.number() == 0) {
    warning.set_number(10);  // SIGUSR1
    warning.set_seconds_before_end(static_cast<uint32_t>(times.warn));
  }
  if (warning.seconds_before_end() >= times.each)
    return failure("the signal would come before the part begins: a longer --each, or a shorter --signal");
  warning.set_batch_only(true);
  spec.set_time_limit_minutes(static_cast<uint32_t>(times.each / 60));
  spec.set_requeue(true);
  if (spec.open_mode() == model::OPEN_DEFAULT) spec.set_open_mode(model::OPEN_APPEND);
  spec.set_comment(text::with_chain_part(spec.comment(), 1, number_of_parts(times)));
  return {};
}

// The program that runs a part: the cluster's own, which is kept up to date; on a real Slurm the one that
// runs now, which must lie where the nodes see it.
Result<std::string> part_program(engine::Engine& cluster) {
  const auto self = cluster.identity();
  if (!self) return failure(self.error());
  if (self->product == "Slurm") return os::this_program();
  const auto home = os::minke_home();
  if (!home) return home;
  return os::bin_path(*home) + "/minke";
}

// The script itself follows the line that runs the part, which reads it from there.
std::string part_script(const std::string& program, const Times& times, const submit::JobRequest& request) {
  const model::WarningSignal& warning = request.spec.warning_signal();
  return "#!/bin/sh\nexec " + text::shell_quoted(program) + " chain-part " + std::to_string(times.total) +
         " " + std::to_string(warning.seconds_before_end()) + " " + std::to_string(warning.number()) +
         (times.checkpoint ? " checkpoint" : " -") + " \"$0\" \"$@\"\n" + request.script;
}

void print_submitted(uint32_t job_id, const Times& times, const submit::JobRequest& request) {
  if (request.parsable) {
    std::printf("%u\n", job_id);
    return;
  }
  const model::WarningSignal& warning = request.spec.warning_signal();
  const uint32_t parts = number_of_parts(times);
  std::printf("Submitted batch job %u: %s in %u part%s of %s, SIG%s %s before the end of each\n", job_id,
              text::format_seconds(times.total).c_str(), parts, parts == 1 ? "" : "s",
              text::format_seconds(times.each).c_str(), text::signal_name(warning.number()).c_str(),
              text::format_seconds(warning.seconds_before_end()).c_str());
}

int submit_chain(const submit::Invocation& invocation, const Times& times, submit::JobRequest& request,
                 int argc, char** argv) {
  if (const std::string problem = cannot_be_a_chain(request); !problem.empty()) return complain(problem);
  if (const Status made = make_parts(times, request.spec); !made) return complain(made.error().message);
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error().message);
  const auto program = part_program(**cluster);
  if (!program) return complain(program.error().message);
  request.script = part_script(*program, times, request);
  const auto reply = submit_batch(**cluster, invocation, request, argc, argv);
  if (!reply) return complain(reply.error().message);
  for (const std::string& note : reply->notes()) std::fprintf(stderr, "sbatch: %s\n", note.c_str());
  print_submitted(reply->job_id(), times, request);
  if (std::fflush(stdout) != 0) return complain("standard output cannot be written");
  return request.wait ? wait_for_end(**cluster, invocation, reply->job_id()) : 0;
}

}  // namespace

std::string_view chain_usage() {
  return kUsage;
}

int chain_main(int argc, char** argv) {
  if (argc > 1 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h")) {
    view::write_out(kUsage);
    return 0;
  }
  int first = 1;
  const auto times = read_times(argc, argv, first);
  if (!times) return complain(times.error().message);
  if (times->checkpoint) {
    if (const Status usable = helpers::criu_is_usable(); !usable)
      return complain("--checkpoint=auto is not to be had here: " + usable.error().message);
  }
  const submit::Invocation invocation =
      current_invocation(submit::Command::kSbatch, argc - first + 1, argv + first - 1);
  const auto line = submit::read_command_line(invocation);
  if (!line) return give_up(invocation, line.error());
  if (line->show != submit::ShowOnly::kNothing) return show(submit::Command::kSbatch, *line);
  if (line->wrap) return complain("a chain needs a script, not --wrap");
  const auto script = read_script(invocation, *line);
  if (!script) return complain(script.error().message);
  auto request = submit::make_job_request(invocation, *line, *script);
  if (!request) return give_up(invocation, request.error(), *script);
  print_notes(*request);
  return submit_chain(invocation, *times, *request, argc, argv);
}

}  // namespace minke::cli
