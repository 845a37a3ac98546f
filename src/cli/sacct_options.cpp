#include "cli/sacct_options.h"

#include <grp.h>

#include <cstdio>
#include <ctime>
#include <utility>

#include "cli/described_commands.h"
#include "cli/document_output.h"
#include "cli/read_command.h"
#include "cli/stored_names.h"
#include "engine/fetch.h"
#include "options/values.h"
#include "os/user_id.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/job_id.h"
#include "text/list.h"
#include "text/number.h"
#include "text/state.h"
#include "text/timestamp.h"
#include "view/output.h"
#include "view/print_fields.h"

namespace minke::cli {
namespace {

constexpr const char* kDefaultFormat = "jobid,jobname,partition,account,alloccpus,state,exitcode";
constexpr const char* kBriefFormat = "jobid,state,exitcode";
constexpr const char* kLongFormat =
    "jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,"
    "maxrsstask,"
    "averss,maxpages,maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,mincputask,avecpu,ntasks,alloccpus,"
    "elapsed,"
    "state,exitcode,avecpufreq,reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,reqmem,consumedenergy,maxdiskread,"
    "maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,maxdiskwritetask,avediskwrite,"
    "reqtres,"
    "alloctres,tresusageinave,tresusageinmax,tresusageinmaxnode,tresusageinmaxtask,tresusageinmin,"
    "tresusageinminnode,"
    "tresusageinmintask,tresusageintot,tresusageoutmax,tresusageoutmaxnode,tresusageoutmaxtask,"
    "tresusageoutave,"
    "tresusageouttot";

struct Arguments : SacctOptions {
  std::string fields;  // of all -o
  std::string default_format = kDefaultFormat;
  bool brief = false, long_list = false;
  bool most_time_given = false;  // --timelimit-max
};
using options::Given;
using enum options::ArgumentKind;
using view::SacctQuestion;
using Ended = std::optional<int>;

constexpr std::string_view kUsage = "Usage: sacct [options]\n\tUse --help for help\n";

int wrong(std::string message) {
  return report_sacct(Error{0, std::move(message)});
}
int fatal(std::string message) {
  return report_sacct(Error{kSacctFatal, std::move(message)});
}

// "4" or "2-8".
Result<std::pair<uint32_t, uint32_t>> parse_range(std::string_view text, std::string_view what) {
  size_t dash = text.find('-');
  auto low = text::parse_unsigned(text.substr(0, dash), UINT32_MAX);
  auto high = dash == std::string_view::npos ? low : text::parse_unsigned(text.substr(dash + 1), UINT32_MAX);
  if (!low || !high)
    return failure("Invalid numeric value \"" + std::string(text) + "\" for requested " + std::string(what) +
                   " range.");
  return std::pair(static_cast<uint32_t>(*low), static_cast<uint32_t>(*high));
}

template <auto kMember>
Ended range(Arguments& asked, const Given& given) {
  auto range = parse_range(given.text(), given.option.name == "nnodes" ? "node" : "cpu");
  if (!range) return report_sacct(range.error());
  asked.question.*kMember = *range;
  return std::nullopt;
}

Ended users(Arguments& asked, const Given& given) {
  for (const std::string& user : text::split_list(given.text())) {
    auto uid = os::user_id_of(user);
    if (!uid) return wrong("Invalid user id: " + user);
    asked.uids.push_back(*uid);
  }
  return std::nullopt;
}

Ended groups(Arguments& asked, const Given& given) {
  for (const std::string& name : text::split_list(given.text())) {
    const group* entry = getgrnam(name.c_str());
    auto number = text::parse_unsigned(name, UINT32_MAX);
    if (entry == nullptr && !number) return wrong("Invalid group id: " + name);
    asked.gids.push_back(entry != nullptr ? entry->gr_gid : static_cast<uint32_t>(*number));
  }
  return std::nullopt;
}

Ended jobs(Arguments& asked, const Given& given) {
  for (const std::string& word : text::split_list(given.text())) {
    if (word.find('[') != std::string::npos)
      return fatal("Bad job/step specified: " + word +
                   ": JobID includes unexpected non-numeric characters (write 12_1,12_3)");
    auto reference = text::parse_job_id(word);
    if (!reference)
      return fatal("Bad job/step specified: " + word +
                   " (write 12, 12_3 for a task of an array, 12.0 for a step)");
    if (reference->step) {
      asked.question.steps.push_back(
          {engine::selector_of(*reference), reference->step->kind, reference->step->step_id});
    } else {
      asked.question.jobs.push_back(engine::selector_of(*reference));
    }
  }
  return std::nullopt;
}

Ended states(Arguments& asked, const Given& given) {
  asked.question.filter_states = true;
  for (const std::string& word : text::split_list(given.text())) {
    auto state = text::parse_job_state(word);
    if (!state)
      return fatal(
          "unrecognized job state value '" + word +
          "' (write COMPLETED, FAILED, CANCELLED, TIMEOUT, RUNNING, PENDING or several with commas)");
    if (state->state) asked.question.states.push_back(*state->state);
  }
  return std::nullopt;
}

Ended reasons(Arguments& asked, const Given& given) {
  for (const std::string& word : text::split_list(given.text())) {
    auto reason = text::parse_state_reason(word);
    if (!reason) return fatal("unrecognized job reason value '" + word + "'");
    asked.question.reasons.push_back(*reason);
  }
  return std::nullopt;
}

using CountRange = std::pair<uint32_t, uint32_t>;

template <auto kEnd>  // of the pair of least and most
Ended time_limit(Arguments& asked, const Given& given) {
  auto minutes = text::parse_minutes(given.text());
  if (!minutes) return fatal("Invalid time limit specification");
  auto& range = asked.question.time_limit;
  if (!range) range.emplace(0, text::kUnlimited);
  (*range).*kEnd = *minutes;
  if (kEnd == &CountRange::second) asked.most_time_given = true;
  return std::nullopt;
}

Ended nodes(Arguments& asked, const Given& given) {
  auto hosts = text::expand_hostlist(given.text());
  if (!hosts) return report_sacct(hosts.error());
  asked.question.nodes = std::move(*hosts);
  return std::nullopt;
}

Ended fields(Arguments& asked, const Given& given) {
  if (!given.from_environment) {
    asked.fields.append(given.text()).append(1, ',');
  } else if (!given.text().empty()) {
    asked.default_format = given.text();
  }
  return std::nullopt;
}

Ended units(Arguments& asked, const Given& given) {
  if (given.text().size() == 1) asked.unit = text::parse_unit(given.text()[0]);
  if (given.text().size() == 1 && asked.unit) return std::nullopt;
  wrong("Invalid unit type '" + given.text() + "'. Possible options are 'KMGTP'");
  return fatal("Invalid unit type");
}

Ended all_clusters(Arguments& asked, const Given&) {
  asked.clusters.clear();
  return std::nullopt;
}

Ended duplicates(Arguments& asked, const Given&) {
  asked.duplicates = asked.question.all_runs = true;
  return std::nullopt;
}

Ended no_completion(Arguments&, const Given&) {
  std::fputs("Slurm job completion is disabled\n", stderr);  // there is no record besides the accounting
  return 1;
}
Ended no_flags(Arguments&, const Given&) {
  return wrong("which scheduler started a job is not recorded: no job can be chosen by it");
}

Ended help_format(Arguments&, const Given&) {
  view::write_out(view::sacct_help_format());
  return 0;
}
Ended help_reason(Arguments&, const Given&) {
  view::write_out("any reason of squeue's, such as Priority, Resources, Dependency, JobHeldUser\n");
  return 0;
}
Ended help_state(Arguments&, const Given&) {
  constexpr std::string_view kStates[] = {"PENDING",   "RUNNING",   "SUSPENDED", "COMPLETED",
                                          "CANCELLED", "FAILED",    "TIMEOUT",   "NODE_FAIL",
                                          "PREEMPTED", "BOOT_FAIL", "DEADLINE",  "OUT_OF_MEMORY"};
  view::write_out(view::print_help_format(kStates, 19));
  return 0;
}

template <auto kMember>
constexpr auto words = options::list<&Arguments::question, kMember>;
template <auto kMember>
Ended accounting_names(Arguments& asked, const Given& given) {
  asked.question.*kMember = with_stored_names(text::split_list(given.text()));
  return std::nullopt;
}
constexpr auto kIgnored = &options::ignored<Arguments>;

// Columns: see options::Option.
constexpr options::Row<Arguments> kRows[] = {
    {{"accounts", 'A', kRequired, "list", "jobs of these accounts", options::kAccountNames},
     accounting_names<&SacctQuestion::accounts>},
    {{"allclusters", 'L', kNone}, all_clusters},
    {{"allocations", 'X', kNone, "", "jobs only, no steps"},
     options::flag<&Arguments::question, &SacctQuestion::allocations_only>},
    {{"allusers", 'a', kNone, "", "jobs of all users"}, options::flag<&Arguments::all_users>},
    {{"associations", 'x', kRequired, "list", "jobs of these associations"},
     words<&SacctQuestion::associations>},
    {{"array", '\0', kNone, "", "each task of a waiting array in a line of its own"},
     options::flag<&Arguments::question, &SacctQuestion::each_task>},
    {{"batch-script", 'B', kNone, "", "the script of the jobs named with -j"},
     options::flag<&Arguments::batch_script>},
    {{"brief", 'b', kNone, "", "only job id, state and exit code"}, options::flag<&Arguments::brief>},
    {{"cluster", '\0', kRequired}, options::list<&Arguments::clusters>},
    {{"clusters", 'M', kRequired, "list", "jobs of these clusters; there is one"},
     options::list<&Arguments::clusters>},
    {{"completion", 'c', kNone, "", "records of a job completion plugin: there is none here"}, no_completion},
    {{"constraints", 'C', kRequired, "list", "jobs that asked for all of these features"},
     words<&SacctQuestion::constraints>},
    {{"delimiter", '\0', kRequired, "text", "between the fields of -p and -P"},
     options::keep<&Arguments::delimiter>},
    {{"duplicates", 'D', kNone, "", "also earlier runs of requeued jobs"}, duplicates},
    {{"endtime", 'E', kRequired, "time", "jobs before this time"}, options::keep<&Arguments::until>},
    {{"env-vars", '\0', kNone, "", "the environment of the jobs named with -j"},
     options::flag<&Arguments::environment>},
    {{"expand-patterns", '\0', kNone, "", "names of files in place of their patterns"},
     options::flag<&Arguments::expand_patterns>},
    {{"federation", '\0', kNone}, kIgnored},
    {{"file", 'f', kRequired, "file", "a job completion plugin's file: there is none here"}, no_completion},
    {{"fields", '\0', kRequired}, fields},
    {{"flags", 'F', kRequired}, no_flags},
    {{"format", 'o', kRequired, "fields", "name[%width],...", "", "SACCT_FORMAT"}, fields},
    {{"gid", '\0', kRequired}, groups},
    {{"group", 'g', kRequired, "list", "jobs of these groups", "$getent group | cut -d : -f 1"}, groups},
    {{"help", 'h', kNone, "", "show this help message"}, show_help<Arguments>},
    {{"helpformat", 'e', kNone, "", "the fields of --format"}, help_format},
    {{"helpreason", '\0', kNone, "", "the reasons of --reason"}, help_reason},
    {{"helpstate", '\0', kNone, "", "the states of --state"}, help_state},
    {{"jobs", 'j', kRequired, "list", "these jobs and steps"}, jobs},
    {{"json", '\0', kOptional, "data_parser", "all that is known of the jobs, as JSON"},
     document<&Arguments::document>},
    {{"local", '\0', kNone}, kIgnored},
    {{"long", 'l', kNone, "", "many fields"}, options::flag<&Arguments::long_list>},
    {{"name", '\0', kRequired, "list", "jobs of these names"}, words<&SacctQuestion::names>},
    {{"ncpus", 'I', kRequired, "N[-M]", "jobs of so many CPUs"}, range<&SacctQuestion::num_cpus>},
    {{"nnodes", 'i', kRequired, "N[-M]", "jobs of so many nodes"}, range<&SacctQuestion::num_nodes>},
    {{"noconvert", '\0', kNone, "", "2048M, not 2G"}, options::flag<&Arguments::no_convert>},
    {{"nodelist", 'N', kRequired, "hostlist", "jobs that ran on these nodes", options::kNodeNames}, nodes},
    {{"noheader", 'n', kNone, "", "no header"}, options::flag<&Arguments::no_header>},
    {{"parsable", 'p', kNone, "", "fields with | behind each"},
     options::set_to<view::PrintLayout::kParsable, &Arguments::layout>},
    {{"parsable2", 'P', kNone, "", "fields with | between them"},
     options::set_to<view::PrintLayout::kParsable2, &Arguments::layout>},
    {{"partition", 'r', kRequired, "list", "jobs of these partitions", options::kPartitionNames},
     words<&SacctQuestion::partitions>},
    {{"qos", 'q', kRequired, "list", "jobs of these QOS", options::kQosNames},
     accounting_names<&SacctQuestion::qos>},
    {{"reason", 'R', kRequired, "list", "jobs that waited for these reasons"}, reasons},
    {{"starttime", 'S', kRequired, "time", "jobs after this time"}, options::keep<&Arguments::from>},
    {{"state", 's', kRequired, "list", "jobs in these states at that time", options::kJobStates}, states},
    {{"timelimit-max", 'K', kRequired, "time", "jobs of at most this time limit"},
     time_limit<&CountRange::second>},
    {{"timelimit-min", 'k', kRequired, "time", "jobs of at least this time limit"},
     time_limit<&CountRange::first>},
    {{"truncate", 'T', kNone, "", "cut times to the window"},
     options::flag<&Arguments::question, &SacctQuestion::truncate>},
    {{"", 't', kNone}, kIgnored},
    {{"uid", '\0', kRequired}, users},
    {{"units", '\0', kRequired, "[KMGTP]", "sizes in this unit", "K M G T P"}, units},
    {{"usage", '\0', kNone, "", "display brief usage message"}, show_usage<Arguments>},
    {{"use-local-uid", '\0', kNone}, kIgnored},
    {{"user", 'u', kRequired, "list", "jobs of these users", options::kUserNames}, users},
    {{"verbose", 'v', kNone, "", "say what was asked for"}, options::flag<&Arguments::verbose>},
    {{"version", 'V', kNone, "", "version and exit"}, show_version<Arguments>},
    {{"wckeys", 'W', kRequired, "list", "jobs of these wckeys"}, words<&SacctQuestion::wckeys>},
    {{"whole-hetjob", '\0', kOptional}, kIgnored},
    {{"yaml", '\0', kOptional, "data_parser", "all that is known of the jobs, as YAML"},
     document<&Arguments::document>},
};

const options::Table<Arguments>& table() {
  static const auto* const kTable = new options::Table<Arguments>(
      {.name = "sacct", .purpose = "the record of jobs and steps", .usage = kUsage, .hints_at_help = false},
      kRows);
  return *kTable;
}

int64_t midnight(int64_t now) {
  time_t time = now;
  tm parts;
  localtime_r(&time, &parts);
  parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
  parts.tm_isdst = -1;
  return mktime(&parts);
}

}  // namespace

int report_sacct(const Error& error) {
  std::fprintf(stderr, "sacct: %s: %s\n", error.code == kSacctFatal ? "fatal" : "error",
               error.message.c_str());
  return 1;
}

const options::Command& sacct_command() {
  return table().command;
}

std::optional<int> read_sacct_arguments(int argc, char** argv, SacctOptions& asked) {
  Arguments arguments;
  const CommandRead read = read_command(table(), argc, argv, arguments);
  if (read.status) return read.status;
  if (!read.operands.empty()) {
    view::print_error("sacct", "Unknown arguments:");
    for (const std::string& operand : read.operands)
      view::print_error(
          "sacct",
          " " + operand + (text::parse_job_id(operand) ? " (of one job: sacct -j " + operand + ")" : ""));
    return 1;
  }
  if (!arguments.fields.empty() && arguments.long_list)
    return fatal("Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry.");
  arguments.format = arguments.fields;
  if (arguments.brief) arguments.format.append(kBriefFormat).append(1, ',');
  if (arguments.long_list) arguments.format += kLongFormat;
  if (arguments.format.empty()) arguments.format = arguments.default_format;
  // The least alone means that limit, as Slurm reads it.
  if (auto& limit = arguments.question.time_limit; limit && !arguments.most_time_given)
    limit->second = limit->first;
  asked = std::move(arguments);
  return std::nullopt;
}

Status set_sacct_window(const SacctOptions& options, int64_t now, view::SacctQuestion& question) {
  const bool named = !question.jobs.empty() || !question.steps.empty();
  question.from = named ? 0 : question.filter_states ? now : midnight(now);
  // An end of "now" means the end of this second, in which jobs here may have begun and ended; named jobs are
  // shown even if they have yet to begin.
  const int64_t until_now = question.filter_states ? now : now + 1;
  question.until = named && !question.filter_states ? 0 : until_now;
  if (options.from) {
    auto time = text::parse_time(*options.from, now, true);
    if (!time) return failure(time.error().message + " (write 2026-04-01, 12:30 or now-7days)");
    question.from = *time;
    question.until = question.filter_states ? question.from : until_now;
  }
  if (options.until) {
    auto time = text::parse_time(*options.until, now, true);
    if (!time) return failure(time.error().message + " (write 2026-04-01, 12:30 or now-7days)");
    question.until = *time == now && !question.filter_states ? until_now : *time;
  }
  return {};
}

}  // namespace minke::cli
