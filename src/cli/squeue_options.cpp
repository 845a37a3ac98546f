// The command line and the environment of squeue.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/version.h"
#include "cli/clusters.h"
#include "cli/described_commands.h"
#include "cli/document_output.h"
#include "cli/read_command.h"
#include "cli/squeue_options.h"
#include "cli/stored_names.h"
#include "engine/fetch.h"
#include "options/values.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/job_id.h"
#include "text/list.h"
#include "text/nearest.h"
#include "text/number.h"
#include "text/state.h"
#include "view/output.h"
#include "view/print_fields.h"
#include "view/squeue.h"

namespace minke::cli {
namespace {

using options::Given;
using enum options::ArgumentKind;

struct Arguments : view::SqueueOptions {
  bool format_given = false;  // by -o or -O, not by a variable
  bool jobs_flag = false;     // -j, with jobs or without
};
using Ended = std::optional<int>;

// The states that --states takes, as each release lists them.
std::string state_names() {
  std::string names =
      "PENDING,RUNNING,SUSPENDED,COMPLETED,CANCELLED,FAILED,TIMEOUT,NODE_FAIL,PREEMPTED,BOOT_FAIL,DEADLINE,"
      "OUT_OF_MEMORY,COMPLETING,CONFIGURING,";
  if (spoken_release() >= kSlurm26) names += "EXPEDITING,";
  names +=
      "RESIZING,RESV_DEL_HOLD,REQUEUED,REQUEUE_FED,REQUEUE_HOLD,REVOKED,SIGNALING,SPECIAL_EXIT,STAGE_OUT,"
      "STOPPED";
  return spoken_release() < kSlurm24 ? names : text::lower_case(names);
}
constexpr std::string_view kUsage =
    "Usage: squeue [-A account] [--clusters names] [-i seconds] [--job jobid]\n"
    "              [-n name] [-o format] [--only-job-state] [-p partitions]\n"
    "              [--qos qos] [--reservation reservation] [--sort fields] [--start]\n"
    "              [--step step_id] [-t states] [-u user_name] [--usage]\n"
    "              [-L licenses] [-w nodes] [--federation] [--local] [--sibling]\n"
    "              [--expand-patterns] [--json=data_parser] [--yaml=data_parser]\n"
    "              [--running-over=time] [--running-under=time] [-ahjlrsv]\n";

int wrong(const std::string& message) {
  view::print_error("squeue", message);
  return 1;
}

// A list without a name in it, such as that of an unset variable, matches nothing.
template <auto kMember>
Ended names(Arguments& asked, const Given& given) {
  asked.*kMember = text::split_list(given.text());
  asked.nothing = asked.nothing || (asked.*kMember).empty();
  return std::nullopt;
}
template <auto kMember>
Ended accounting_names(Arguments& asked, const Given& given) {
  names<kMember>(asked, given);
  asked.*kMember = with_stored_names(asked.*kMember);
  return std::nullopt;
}

constexpr std::array<std::string_view, 13> kStateWords = {
    "PENDING",   "RUNNING",   "SUSPENDED", "COMPLETED", "CANCELLED",     "FAILED",    "TIMEOUT",
    "NODE_FAIL", "PREEMPTED", "DEADLINE",  "BOOT_FAIL", "OUT_OF_MEMORY", "COMPLETING"};

Ended states(Arguments& asked, const Given& given) {
  asked.states.clear();
  asked.completing_state = asked.configuring_state = asked.stopped_state = asked.all_states = false;
  asked.filter_states = true;
  if (text::equals_ignoring_case(given.text(), "all")) {
    asked.all_states = true;
    return std::nullopt;
  }
  for (const std::string& word : text::split_list(given.text())) {
    Result<text::StateWord> state = text::parse_job_state(word);
    if (!state) {
      const std::string_view meant = text::nearest(text::upper_case(word), kStateWords);
      wrong("Invalid job state specified: " + word +
            (meant.empty() ? "" : " (did you mean " + std::string(meant) + "?)"));
      return wrong("Valid job states include: " + state_names() + "\n");
    }
    if (state->state) asked.states.push_back(*state->state);
    asked.completing_state = asked.completing_state || state->completing;
    asked.configuring_state = asked.configuring_state || text::equals_ignoring_case(word, "CF") ||
                              text::equals_ignoring_case(word, "CONFIGURING");
    asked.stopped_state = asked.stopped_state || text::equals_ignoring_case(word, "ST") ||
                          text::equals_ignoring_case(word, "STOPPED");
  }
  return std::nullopt;
}

Ended iterate(Arguments& asked, const Given& given) {
  auto seconds = text::parse_unsigned(given.text(), 1000000);
  if (!seconds || *seconds == 0) return wrong("--iterate=" + given.text() + "\n");
  asked.iterate_seconds = static_cast<unsigned>(*seconds);
  return std::nullopt;
}

// The parts of a list, where each may have a sign in front: "12,+13".
std::string without_signs(std::string_view list) {
  std::string out;
  for (const std::string_view part : text::split(list, ',')) {
    if (&list.front() != part.data()) out += ',';
    out += part.substr(part.starts_with('+') ? 1 : 0);
  }
  return out;
}

// The part of a list that is no job or step.
std::string wrong_part(std::string_view list) {
  for (const std::string_view part : text::split(list, ','))
    if (!text::parse_job_id_list(part)) return std::string(part);
  return std::string(list);
}

Ended add_jobs(Arguments& asked, const std::string& list) {
  auto references =
      list.empty() ? text::parse_job_id_list(list) : text::parse_job_id_list(without_signs(list));
  if (!references)
    return wrong("Invalid job id: " + wrong_part(list) + " (write 12, or 12_3 for a task of an array)");
  for (const text::JobReference& reference : *references)
    asked.jobs.push_back(engine::selector_of(reference));
  asked.nothing = asked.nothing || asked.jobs.empty();
  return std::nullopt;
}

Ended jobs(Arguments& asked, const Given& given) {
  asked.jobs_flag = true;
  return given.value ? add_jobs(asked, *given.value) : std::nullopt;
}

// Of a step's number what can be read of it, as Slurm's squeue does: "12.x" is 12.0.
std::string with_step_numbers(std::string_view list) {
  std::string out;
  for (const std::string_view part : text::split(list, ',')) {
    out += out.empty() ? "" : ",";
    const size_t dot = part.find('.');
    const std::string_view step =
        dot == std::string_view::npos ? "" : text::skip_blanks_and_plus(part.substr(dot + 1));
    if (step.empty() || step[0] == '-' || text::parse_job_id(part)) {
      out += part;
    } else {
      const std::string_view digits = step.substr(0, step.find_first_not_of("0123456789"));
      out.append(part.substr(0, dot + 1)).append(digits.empty() ? "0" : digits);
    }
  }
  return out;
}

Ended add_steps(Arguments& asked, const std::string& given) {
  const std::string list = with_step_numbers(given);
  auto references = text::parse_job_id_list(list);
  if (!references) {
    const std::string part = wrong_part(list);
    const size_t dot = part.find('.');
    const std::string_view unknown = dot == std::string::npos ? ".??" : dot + 1 == part.size() ? "??" : "";
    return wrong("Invalid job_step id: " + part + std::string(unknown));
  }
  for (const text::JobReference& reference : *references) {
    if (!reference.step)
      return wrong("Invalid job_step id: " + std::to_string(reference.job_id) +
                   ".?? (of a job all steps: squeue -s -j " + std::to_string(reference.job_id) + ")");
    view::StepSelector selector;
    selector.job = engine::selector_of(reference);
    if (reference.step) {
      selector.kind = reference.step->kind;
      selector.step_id = reference.step->step_id;
    }
    asked.steps.push_back(std::move(selector));
  }
  return std::nullopt;
}

Ended steps(Arguments& asked, const Given& given) {
  asked.show_steps = true;
  return given.value ? add_steps(asked, *given.value) : std::nullopt;
}

// -o and -O: the later of the two counts, and either overrides a variable.
template <auto kMember, auto kOther>
Ended format(Arguments& asked, const Given& given) {
  if (asked.format_given && (asked.*kOther).has_value())
    return wrong("-O (--Format) is incompatible with -o (--format)");
  asked.format_given = !given.from_environment;
  (asked.*kOther).reset();
  asked.*kMember = given.text();
  return std::nullopt;
}

Ended node_names(Arguments& asked, const Given& given) {
  auto hosts = text::expand_hostlist(given.text());
  if (!hosts) return wrong("Invalid node name " + given.text());
  asked.nodes = std::move(*hosts);
  asked.nothing = asked.nothing || asked.nodes.empty();
  return std::nullopt;
}

Ended not_me(Arguments& asked, const Given&) {
  asked.not_uid = getuid();
  return std::nullopt;
}

template <auto kMember>
Ended running(Arguments& asked, const Given& given) {
  const auto seconds = text::parse_seconds(given.text());
  if (!seconds) return wrong("Invalid time specification: " + given.text());
  asked.*kMember = *seconds;
  return std::nullopt;
}

Ended help_state(Arguments&, const Given&) {
  std::string out = text::lower_case(state_names());
  std::replace(out.begin(), out.end(), ',', '\n');
  view::write_out(out + "\n");
  return 0;
}

Ended help_format(Arguments&, const Given&) {
  std::vector<std::string_view> names;
  for (const view::JobField& field : view::job_fields()) names.push_back(field.name);
  view::write_out(view::print_help_format(names, 19));
  return 0;
}

// The letters that -o knows, in Slurm's order.
Ended help_letters(Arguments&, const Given&) {
  constexpr std::string_view kLetters = "aFKBokOIXEexfGgiAWcmdjyNCDhPpQqrRnvYzsHSTtVJLlMUuwZ";
  constexpr size_t kInALine = 8;
  std::string out;
  for (size_t i = 0; i < kLetters.size(); ++i) {
    out.append("%").append(1, kLetters[i]).append(4, ' ');
    if (i % kInALine == kInALine - 1) out += '\n';
  }
  view::write_out(out + '\n');
  return 0;
}

constexpr auto kIgnored = &options::ignored<Arguments>;
constexpr auto kAccounts = &accounting_names<&Arguments::accounts>;
constexpr auto kNames = &names<&Arguments::names>;
constexpr auto kPartitions = &names<&Arguments::partitions>;
constexpr auto kUsers = &names<&Arguments::users>;
constexpr auto kFormat = &format<&Arguments::format, &Arguments::long_format>;
constexpr auto kLongFormat = &format<&Arguments::long_format, &Arguments::format>;

// Columns: see options::Option.
constexpr options::Row<Arguments> kRows[] = {
    {{"account", 'A', kRequired, "account(s)", "comma separated list of accounts", options::kAccountNames,
      "SQUEUE_ACCOUNT"},
     kAccounts},
    {{"accounts", '\0', kRequired}, kAccounts},
    {{"all", 'a', kNone, "", "also jobs in hidden partitions", "", "SQUEUE_ALL"},
     options::flag<&Arguments::all_partitions>},
    {{"array", 'r', kNone, "", "a line for each task of an array", "", "SQUEUE_ARRAY"},
     options::flag<&Arguments::array>},
    {{"array-unique", '\0', kNone}, kIgnored},
    {{"cluster", '\0', kRequired}, clusters<&Arguments::clusters>},
    {{"clusters", 'M', kRequired, "names", "jobs of these clusters; there is one", "", "SLURM_CLUSTERS"},
     clusters<&Arguments::clusters>},
    {{"expand-patterns", '\0', kNone, "", "names of files in place of their patterns"},
     options::flag<&Arguments::expand_patterns>},
    {{"Format", 'O', kRequired, "format", "what to print: name[:[.]width],...", "", "SQUEUE_FORMAT2"},
     kLongFormat},
    {{"federation", '\0', kNone}, kIgnored},
    {{"format", 'o', kRequired, "format", "what to print: %[[.]width]letter", "", "SQUEUE_FORMAT"}, kFormat},
    {{"help", '\0', kNone, "", "show this help message"}, show_help<Arguments>},
    {{"helpFormat", '\0', kNone, "", "the names that -O knows"}, help_format},
    {{"helpformat", '\0', kNone, "", "the letters that -o knows"}, help_letters},
    {{"helpstate", '\0', kNone, "", "the states of --states"}, help_state},
    {{"hide", '\0', kNone, "", "no jobs in hidden partitions"}, kIgnored},
    {{"iterate", 'i', kRequired, "seconds", "again every so many seconds"}, iterate},
    {{"jobs", 'j', kOptional, "job(s)", "comma separated list of jobs, default is all", options::kJobIds},
     jobs},
    {{"json", '\0', kOptional, "data_parser", "all that is known of the jobs, as JSON"},
     document<&Arguments::document>},
    {{"licenses", 'L', kRequired, "license(s)", "comma separated list of licenses", "", "SQUEUE_LICENSES"},
     names<&Arguments::licenses>},
    {{"local", '\0', kNone}, kIgnored},
    {{"long", 'l', kNone, "", "long report"}, options::flag<&Arguments::long_list>},
    {{"me", '\0', kNone, "", "one's own jobs"}, options::flag<&Arguments::me>},
    {{"name", 'n', kRequired, "job_name(s)", "comma separated list of job names", "", "SQUEUE_NAMES"},
     kNames},
    {{"names", '\0', kRequired}, kNames},
    {{"noconvert", '\0', kNone, "", "2048M, not 2G"}, options::flag<&Arguments::no_convert>},
    {{"node", '\0', kRequired}, node_names},
    {{"nodes", '\0', kRequired}, node_names},
    {{"nodelist", 'w', kRequired, "hostlist", "jobs on these nodes", options::kNodeNames}, node_names},
    {{"noheader", 'h', kNone, "", "no headers on output"}, options::flag<&Arguments::no_header>},
    {{"notme", '\0', kNone, "", "others' jobs"}, not_me},
    {{"only-job-state", '\0', kNone, "", "only job ids and states"},
     options::flag<&Arguments::only_job_state>},
    {{"partition", 'p', kRequired, "partition(s)", "comma separated list of partitions",
      options::kPartitionNames, "SQUEUE_PARTITION"},
     kPartitions},
    {{"partitions", '\0', kRequired}, kPartitions},
    {{"priority", 'P', kNone, "", "a line for each partition a job waits for", "", "SQUEUE_PRIORITY"},
     options::flag<&Arguments::per_partition>},
    {{"qos", 'q', kRequired, "qos(s)", "comma separated list of QOS", options::kQosNames, "SQUEUE_QOS"},
     accounting_names<&Arguments::qos>},
    {{"reservation", 'R', kRequired, "name", "jobs of this reservation", options::kReservationNames},
     options::list<&Arguments::reservations>},
    {{"running-over", '\0', kRequired, "time", "jobs that run for longer"},
     running<&Arguments::running_over>},
    {{"running-under", '\0', kRequired, "time", "jobs that run for less"},
     running<&Arguments::running_under>},
    {{"sib", '\0', kNone}, kIgnored},
    {{"sibling", '\0', kNone}, kIgnored},
    {{"sort", 'S', kRequired, "fields", "comma separated list of fields to sort on", "", "SQUEUE_SORT"},
     options::keep<&Arguments::sort>},
    {{"start", '\0', kNone, "", "expected start times of waiting jobs"}, options::flag<&Arguments::start>},
    {{"state", '\0', kRequired}, states},
    {{"states", 't', kRequired, "states", "comma separated list of states, or \"all\"", options::kJobStates,
      "SQUEUE_STATES"},
     states},
    {{"steps", 's', kOptional, "step(s)", "steps, not jobs"}, steps},
    {{"usage", '\0', kNone, "", "display brief usage message"}, show_usage<Arguments>},
    {{"user", 'u', kRequired, "user_name(s)", "comma separated list of users", options::kUserNames,
      "SQUEUE_USERS"},
     kUsers},
    {{"users", '\0', kRequired}, kUsers},
    {{"verbose", 'v', kNone, "", "say what was asked for"}, options::flag<&Arguments::verbose>},
    {{"version", 'V', kNone, "", "version and exit"}, show_version<Arguments>},
    {{"yaml", '\0', kOptional, "data_parser", "all that is known of the jobs, as YAML"},
     document<&Arguments::document>},
};

const options::Table<Arguments>& table() {
  static const auto* const kTable = new options::Table<Arguments>(
      {.name = "squeue", .purpose = "the jobs that wait and run", .usage = kUsage}, kRows);
  return *kTable;
}

// Whether --only-job-state stands alone, as Slurm wants it: with -j, -t, and how to print.
bool chooses_more_than_state(const Arguments& asked) {
  const bool by_place = !asked.partitions.empty() || !asked.nodes.empty() || !asked.reservations.empty();
  const bool by_name = !asked.users.empty() || !asked.names.empty() || !asked.accounts.empty() ||
                       !asked.qos.empty() || !asked.licenses.empty();
  return by_place || by_name || asked.me || asked.long_list || asked.start || asked.show_steps;
}

}  // namespace

const options::Command& squeue_command() {
  return table().command;
}

std::optional<int> read_squeue_arguments(int argc, char** argv, view::SqueueOptions& asked) {
  Arguments arguments;
  CommandRead read = read_command(table(), argc, argv, arguments);
  if (read.status) return read.status;
  // "-j 12" and "-s 12.0": an optional argument may stand in a word of its own.
  size_t taken = 0;
  if (!read.operands.empty() && arguments.jobs_flag && arguments.jobs.empty()) {
    if (const Ended ended = add_jobs(arguments, read.operands[taken++])) return ended;
  } else if (!read.operands.empty() && arguments.show_steps && arguments.steps.empty()) {
    if (const Ended ended = add_steps(arguments, read.operands[taken++])) return ended;
  }
  if (taken < read.operands.size()) {
    const bool is_job = text::parse_job_id(read.operands[taken]).has_value();
    wrong("Unrecognized option: " + read.operands[taken] +
          (is_job ? " (of one job: squeue -j " + read.operands[taken] + ")" : ""));
    view::write_out(kUsage);
    return 1;
  }
  if (arguments.format && arguments.format_given && arguments.long_list) {
    std::fputs(
        "squeue: fatal: Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and "
        "retry.\n",
        stderr);
    return 1;
  }
  if (arguments.only_job_state && spoken_release() >= kSlurm24 && chooses_more_than_state(arguments)) {
    std::fputs(
        "squeue: fatal: Option --only-job-state only works alone, with -j (--jobs) and/or -t (--states) "
        "parameters, parameters for cluster/federation selection, and the printing options.\n",
        stderr);
    return 1;
  }
  asked = std::move(arguments);
  return std::nullopt;
}

}  // namespace minke::cli
