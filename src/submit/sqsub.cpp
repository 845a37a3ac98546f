#include "submit/sqsub.h"

#include <optional>

#include "text/number.h"
#include "text/shell_quote.h"

namespace minke::submit {
namespace {

constexpr std::string_view kQueueMark = "sqsub-queue=";
constexpr uint64_t kMaxMinutes = 2147483647 / 60;

struct Wanted {
  std::string time, output, error, input, name, queue = "serial", flag, processes, nodes, after, mpp, gpp;
  bool nompirun = false;
};

struct Letter {
  char letter;
  std::string_view long_name;  // empty: none
  std::string Wanted::*field;
};
constexpr Letter kLetters[] = {
    {'r', "runtime", &Wanted::time},  {'o', "output", &Wanted::output},   {'e', "error", &Wanted::error},
    {'i', "input", &Wanted::input},   {'j', "jobname", &Wanted::name},    {'q', "queue", &Wanted::queue},
    {'f', "flag", &Wanted::flag},     {'n', "ncpus", &Wanted::processes}, {'N', "nodes", &Wanted::nodes},
    {'w', "waitfor", &Wanted::after}, {'\0', "mpp", &Wanted::mpp},        {'\0', "gpp", &Wanted::gpp},
};

// Reads "90", "90m", "4h", "1d" or "1d12h" as minutes.
std::optional<uint64_t> minutes_of(std::string_view text) {
  uint64_t total = 0;
  while (!text.empty()) {
    size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    auto number = text::parse_unsigned(text.substr(0, digits), kMaxMinutes);
    if (!number) return std::nullopt;
    uint64_t factor = 1;
    if (digits < text.size()) {
      char unit = text::to_lower(text[digits]);
      if (unit != 'm' && unit != 'h' && unit != 'd') return std::nullopt;
      factor = unit == 'm' ? 1 : unit == 'h' ? 60 : 1440;
      ++digits;
    }
    total += *number * factor;
    if (total > kMaxMinutes) return std::nullopt;
    text.remove_prefix(digits);
  }
  return total == 0 ? std::nullopt : std::optional(total);
}

Result<size_t> read_options(std::span<const std::string> arguments, Wanted& wanted, bool& help) {
  size_t next = 0;
  while (next < arguments.size() && arguments[next].size() > 1 && arguments[next][0] == '-') {
    std::string_view word = arguments[next++];
    if (word == "--") break;
    if (word == "-h" || word == "--help") {
      help = true;
      return next;
    }
    if (word == "--nompirun") {
      wanted.nompirun = true;
      continue;
    }
    const Letter* found = nullptr;
    std::optional<std::string> value;
    if (word[1] == '-') {
      size_t equals = word.find('=');
      for (const Letter& letter : kLetters)
        if (letter.long_name == word.substr(0, equals).substr(2)) found = &letter;
      if (equals != std::string_view::npos) value = word.substr(equals + 1);
    } else {
      for (const Letter& letter : kLetters)
        if (letter.letter == word[1]) found = &letter;
      if (word.size() > 2) value = word.substr(2);
    }
    if (found == nullptr) return failure("unknown option " + std::string(word));
    if (!value && next == arguments.size()) return failure("option " + std::string(word) + " needs a value");
    wanted.*(found->field) = value ? *value : arguments[next++];
  }
  return next;
}

void add(Sqsub& out, std::string_view option, std::string_view value) {
  out.arguments.push_back(std::string("--").append(option).append("=").append(value));
}

// Returns 1 if nothing is given.
Result<uint64_t> count(std::string_view what, const std::string& text) {
  if (text.empty()) return 1;
  auto number = text::parse_unsigned(text, 2147483647);
  if (!number || *number == 0) return failure("not a number of " + std::string(what) + ": " + text);
  return *number;
}

// Adds the options that do not depend on the kind of job.
void add_terms(const Wanted& wanted, uint64_t minutes, std::string_view program, Sqsub& out) {
  add(out, "time", std::to_string(minutes));
  add(out, "output", wanted.output);
  if (!wanted.error.empty()) add(out, "error", wanted.error);
  if (!wanted.input.empty()) add(out, "input", wanted.input);
  add(out, "job-name", wanted.name.empty() ? program.substr(program.rfind('/') + 1) : wanted.name);
  add(out, "extra", std::string(kQueueMark) + wanted.queue);
  if (!wanted.nodes.empty()) add(out, "nodes", wanted.nodes);
  if (wanted.after.empty()) return;
  std::string dependency = "afterany";
  for (std::string_view id : text::split(wanted.after, ',')) dependency.append(":").append(id);
  add(out, "dependency", dependency);
}

// The flag tells the kind of job if the queue does not; any other flag is a node feature.
bool flag_is_kind(const Wanted& wanted) {
  return wanted.flag == "mpi" || wanted.flag == "threaded" || wanted.flag == "serial";
}

void add_resources(const Wanted& wanted, bool mpi, uint64_t processes, uint64_t gpus, Sqsub& out) {
  add(out, "ntasks", mpi ? std::to_string(processes) : "1");
  if (!mpi) add(out, "cpus-per-task", std::to_string(processes));
  if (!wanted.mpp.empty()) add(out, mpi ? "mem-per-cpu" : "mem", wanted.mpp);
  if (wanted.queue == "gpu" || !wanted.gpp.empty())
    add(out, mpi ? "gpus-per-task" : "gres", std::string(mpi ? "" : "gpu:").append(std::to_string(gpus)));
}

std::string script_of(std::string_view program, bool with_mpirun) {
  std::string script =
      "#!/bin/sh\n# This script was created by sqsub.\n"
      "export SQ_JOBID=\"$SLURM_JOB_ID\" PBS_JOBID=\"$SLURM_JOB_ID\" "
      "PBS_O_WORKDIR=\"$SLURM_SUBMIT_DIR\"\nexec ";
  if (with_mpirun) script += "mpirun -n \"$SLURM_NTASKS\" ";
  return script.append(text::shell_quoted(program)).append(" \"$@\"\n");
}

}  // namespace

Result<Sqsub> translate_sqsub(std::span<const std::string> arguments) {
  Wanted wanted;
  Sqsub out;
  auto next = read_options(arguments, wanted, out.show_help);
  if (!next) return failure(next.error());
  if (out.show_help) return out;
  if (wanted.time.empty()) return failure("a run time must be given: -r 4h");
  if (wanted.output.empty()) return failure("a log file must be given: -o FILE");
  const auto command = arguments.subspan(*next);
  if (command.empty()) return failure("no program given");
  auto minutes = minutes_of(wanted.time);
  if (!minutes) return failure("not a run time: " + wanted.time);
  auto processes = count("processes", wanted.processes), gpus = count("GPUs", wanted.gpp),
       nodes = count("nodes", wanted.nodes);
  for (const auto* number : {&processes, &gpus, &nodes})
    if (!*number) return failure(number->error());
  const std::string& kind = flag_is_kind(wanted) ? wanted.flag : wanted.queue;
  if (kind == "serial" && *processes != 1) return failure("a serial job has one processor: -n 1");

  const std::string& program = command.front();
  const bool mpi = kind == "mpi";
  add_terms(wanted, *minutes, program, out);
  if (!wanted.flag.empty() && !flag_is_kind(wanted)) add(out, "constraint", wanted.flag);
  add_resources(wanted, mpi, *processes, *gpus, out);
  out.arguments.insert(out.arguments.end(), command.begin(), command.end());
  out.script = script_of(program, mpi && !wanted.nompirun);
  return out;
}

std::string_view sqsub_usage() {
  return "usage: sqsub -r TIME -o FILE [options] program [arguments]\n"
         "  -r TIME     time limit: minutes, or 90m, 4h, 2d\n"
         "  -o FILE     output; %J stands for the job id\n"
         "  -e FILE     errors; with the output where it is not given\n"
         "  -i FILE     input\n"
         "  -j NAME     name of the job\n"
         "  -q QUEUE    serial, threaded, mpi, gpu, or a project's queue\n"
         "  -f FLAG     mpi, threaded, serial, or a feature that the nodes must have\n"
         "  -n N        processes of an mpi job, processors of another one\n"
         "  -N N        nodes\n"
         "  -w ID,ID    wait for the end of these jobs\n"
         "  --mpp=SIZE  memory for each process: 2G\n"
         "  --gpp=N     GPUs for each process\n"
         "  --nompirun  do not start the program with mpirun\n";
}

std::string_view sqsub_queue(std::string_view extra) {
  return extra.starts_with(kQueueMark) ? extra.substr(kQueueMark.size()) : std::string_view();
}

}  // namespace minke::submit
