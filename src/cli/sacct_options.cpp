#include "cli/sacct_options.h"

#include <getopt.h>
#include <grp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "cli/document_output.h"
#include "cli/version_line.h"
#include "engine/fetch.h"
#include "os/user_id.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/job_id.h"
#include "text/list.h"
#include "text/number.h"
#include "text/state.h"
#include "text/timestamp.h"
#include "view/output.h"

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

enum LongOption {
  kDelimiter = 256,
  kName,
  kNoConvert,
  kUnits,
  kUsageOption,
  kEnvironment,
  kHelpReason,
  kHelpState,
  kIgnored,
  kIgnoredValue
};

constexpr option kLongOptions[] = {{"accounts", required_argument, nullptr, 'A'},
                                   {"allclusters", no_argument, nullptr, 'L'},
                                   {"allocations", no_argument, nullptr, 'X'},
                                   {"allusers", no_argument, nullptr, 'a'},
                                   {"associations", required_argument, nullptr, 'x'},
                                   {"array", no_argument, nullptr, kIgnored},
                                   {"batch-script", no_argument, nullptr, 'B'},
                                   {"brief", no_argument, nullptr, 'b'},
                                   {"cluster", required_argument, nullptr, 'M'},
                                   {"clusters", required_argument, nullptr, 'M'},
                                   {"constraints", required_argument, nullptr, 'C'},
                                   {"delimiter", required_argument, nullptr, kDelimiter},
                                   {"duplicates", no_argument, nullptr, 'D'},
                                   {"endtime", required_argument, nullptr, 'E'},
                                   {"env-vars", no_argument, nullptr, kEnvironment},
                                   {"expand-patterns", no_argument, nullptr, kIgnored},
                                   {"federation", no_argument, nullptr, kIgnored},
                                   {"fields", required_argument, nullptr, 'o'},
                                   {"flags", required_argument, nullptr, 'F'},
                                   {"format", required_argument, nullptr, 'o'},
                                   {"gid", required_argument, nullptr, 'g'},
                                   {"group", required_argument, nullptr, 'g'},
                                   {"help", no_argument, nullptr, 'h'},
                                   {"helpformat", no_argument, nullptr, 'e'},
                                   {"helpreason", no_argument, nullptr, kHelpReason},
                                   {"helpstate", no_argument, nullptr, kHelpState},
                                   {"jobs", required_argument, nullptr, 'j'},
                                   {"json", optional_argument, nullptr, kJsonOption},
                                   {"local", no_argument, nullptr, kIgnored},
                                   {"long", no_argument, nullptr, 'l'},
                                   {"name", required_argument, nullptr, kName},
                                   {"ncpus", required_argument, nullptr, 'I'},
                                   {"nnodes", required_argument, nullptr, 'i'},
                                   {"noconvert", no_argument, nullptr, kNoConvert},
                                   {"nodelist", required_argument, nullptr, 'N'},
                                   {"noheader", no_argument, nullptr, 'n'},
                                   {"parsable", no_argument, nullptr, 'p'},
                                   {"parsable2", no_argument, nullptr, 'P'},
                                   {"partition", required_argument, nullptr, 'r'},
                                   {"qos", required_argument, nullptr, 'q'},
                                   {"reason", required_argument, nullptr, 'R'},
                                   {"starttime", required_argument, nullptr, 'S'},
                                   {"state", required_argument, nullptr, 's'},
                                   {"timelimit-max", required_argument, nullptr, 'K'},
                                   {"timelimit-min", required_argument, nullptr, 'k'},
                                   {"truncate", no_argument, nullptr, 'T'},
                                   {"uid", required_argument, nullptr, 'u'},
                                   {"units", required_argument, nullptr, kUnits},
                                   {"usage", no_argument, nullptr, kUsageOption},
                                   {"use-local-uid", no_argument, nullptr, kIgnored},
                                   {"user", required_argument, nullptr, 'u'},
                                   {"verbose", no_argument, nullptr, 'v'},
                                   {"version", no_argument, nullptr, 'V'},
                                   {"wckeys", required_argument, nullptr, 'W'},
                                   {"whole-hetjob", optional_argument, nullptr, kIgnoredValue},
                                   {"yaml", optional_argument, nullptr, kYamlOption},
                                   {nullptr, 0, nullptr, 0}};

// "4" or "2-8".
Result<std::pair<uint32_t, uint32_t>> parse_range(std::string_view text, const char* what) {
  size_t dash = text.find('-');
  auto low = text::parse_unsigned(text.substr(0, dash), UINT32_MAX);
  auto high = dash == std::string_view::npos ? low : text::parse_unsigned(text.substr(dash + 1), UINT32_MAX);
  if (!low || !high)
    return failure("Invalid numeric value \"" + std::string(text) + "\" for requested " + what + " range.");
  return std::pair(static_cast<uint32_t>(*low), static_cast<uint32_t>(*high));
}

Status add_users(std::string_view text, SacctOptions& options) {
  for (const std::string& user : text::split_list(text)) {
    auto uid = os::user_id_of(user);
    if (!uid) return failure("Invalid user id: " + user);
    options.uids.push_back(*uid);
  }
  return {};
}

Status add_groups(std::string_view text, SacctOptions& options) {
  for (const std::string& name : text::split_list(text)) {
    const group* entry = getgrnam(name.c_str());
    auto number = text::parse_unsigned(name, UINT32_MAX);
    if (entry == nullptr && !number) return failure("Invalid group id: " + name);
    options.gids.push_back(entry != nullptr ? entry->gr_gid : static_cast<uint32_t>(*number));
  }
  return {};
}

Status add_jobs(std::string_view text, SacctOptions& options) {
  for (const std::string& word : text::split_list(text)) {
    auto reference = text::parse_job_id(word);
    if (!reference) return failure("Bad job/step specified: " + word, kSacctFatal);
    if (reference->step) {
      options.question.steps.push_back(
          {engine::selector_of(*reference), reference->step->kind, reference->step->step_id});
    } else {
      options.question.jobs.push_back(engine::selector_of(*reference));
    }
  }
  return {};
}

Status add_states(std::string_view text, SacctOptions& options) {
  options.question.filter_states = true;
  for (const std::string& word : text::split_list(text)) {
    auto state = text::parse_job_state(word);
    if (!state) return failure("unrecognized job state value '" + word + "'", kSacctFatal);
    if (state->state) options.question.states.push_back(*state->state);
  }
  return {};
}

Status add_reasons(std::string_view text, SacctOptions& options) {
  for (const std::string& word : text::split_list(text)) {
    auto reason = text::parse_state_reason(word);
    if (!reason) return failure("unrecognized job reason value '" + word + "'", kSacctFatal);
    options.question.reasons.push_back(*reason);
  }
  return {};
}

Status set_time_limit(std::string_view text, bool least, SacctOptions& options) {
  auto minutes = text::parse_minutes(text);
  if (!minutes) return failure("Invalid time limit specification", kSacctFatal);
  auto& range = options.question.time_limit;
  if (!range) range.emplace(0, text::kUnlimited);
  (least ? range->first : range->second) = *minutes;
  return {};
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

std::optional<int> read_sacct_arguments(int argc, char** argv, SacctOptions& options) {
  std::string fields;  // of all -o
  bool brief = false, long_list = false;
  view::SacctQuestion& question = options.question;
  Status status;
  optind = 0;
  int letter;
  while (status &&
         (letter = getopt_long(argc, argv, "aA:bBcC:DeE:F:g:hi:I:j:k:K:lLM:nN:o:pPq:r:R:s:S:Ttu:vVW:x:X",
                               kLongOptions, nullptr)) != -1) {
    switch (letter) {
      case 'a':
        options.all_users = true;
        break;
      case 'A':
        question.accounts = text::split_list(optarg);
        break;
      case 'b':
        brief = true;
        break;
      case 'B':
        options.batch_script = true;
        break;
      case 'c':
        view::print_error("sacct", "there are no job completion records besides the accounting");
        return 1;
      case 'C':
        question.constraints = text::split_list(optarg);
        break;
      case 'F':
        return report_sacct(
            Error{0, "which scheduler started a job is not recorded: no job can be chosen by it"});
      case 'L':
        options.clusters.clear();
        break;
      case 'M':
        options.clusters = text::split_list(optarg);
        break;
      case 'v':
        options.verbose = true;
        break;
      case 't':
      case kIgnored:
      case kIgnoredValue:
        break;  // of federations, or of what is so anyhow
      case 'W':
        question.wckeys = text::split_list(optarg);
        break;
      case 'x':
        question.associations = text::split_list(optarg);
        break;
      case kEnvironment:
        options.environment = true;
        break;
      case kHelpReason:
        view::write_out("any reason of squeue's, such as Priority, Resources, Dependency, JobHeldUser\n");
        return 0;
      case kHelpState:
        view::write_out(
            "BOOT_FAIL\nCANCELLED\nCOMPLETED\nDEADLINE\nFAILED\nNODE_FAIL\nOUT_OF_"
            "MEMORY\nPENDING\nPREEMPTED\n"
            "REQUEUED\nRUNNING\nSUSPENDED\nTIMEOUT\n");
        return 0;
      case kJsonOption:
      case kYamlOption:
        if (auto ended = read_document_option("sacct", letter, optarg, options.document)) return ended;
        break;
      case 'D':
        options.duplicates = options.question.all_runs = true;
        break;
      case 'e':
        view::write_out(view::sacct_help_format());
        return 0;
      case 'E':
        options.until = optarg;
        break;
      case 'g':
        status = add_groups(optarg, options);
        break;
      case 'h':
        view::write_out(sacct_help());
        return 0;
      case 'i':
      case 'I': {
        auto range = parse_range(optarg, letter == 'i' ? "node" : "cpu");
        if (!range) return report_sacct(range.error());
        (letter == 'i' ? question.num_nodes : question.num_cpus) = *range;
        break;
      }
      case 'j':
        status = add_jobs(optarg, options);
        break;
      case 'k':
      case 'K':
        status = set_time_limit(optarg, letter == 'k', options);
        break;
      case 'l':
        long_list = true;
        break;
      case 'n':
        options.no_header = true;
        break;
      case 'N': {
        auto hosts = text::expand_hostlist(optarg);
        if (!hosts) return report_sacct(hosts.error());
        question.nodes = std::move(*hosts);
        break;
      }
      case 'o':
        fields.append(optarg).append(1, ',');
        break;
      case 'p':
        options.layout = view::PrintLayout::kParsable;
        break;
      case 'P':
        options.layout = view::PrintLayout::kParsable2;
        break;
      case 'q':
        question.qos = text::split_list(optarg);
        break;
      case 'r':
        question.partitions = text::split_list(optarg);
        break;
      case 'R':
        status = add_reasons(optarg, options);
        break;
      case 's':
        status = add_states(optarg, options);
        break;
      case 'S':
        options.from = optarg;
        break;
      case 'T':
        question.truncate = true;
        break;
      case 'u':
        status = add_users(optarg, options);
        break;
      case 'V':
        view::write_out(kVersionLine);
        return 0;
      case 'X':
        question.allocations_only = true;
        break;
      case kDelimiter:
        options.delimiter = optarg;
        break;
      case kName:
        question.names = text::split_list(optarg);
        break;
      case kNoConvert:
        options.no_convert = true;
        break;
      case kUnits:
        options.unit = text::parse_unit(optarg[0]);
        if (!options.unit || optarg[1] != '\0') {
          view::print_error("sacct",
                            "Invalid unit type '" + std::string(optarg) + "'. Possible options are 'KMGTP'");
          return report_sacct(Error{kSacctFatal, "Invalid unit type"});
        }
        break;
      case kUsageOption:
        view::write_out("Usage: sacct [options]\n\tUse --help for help\n");
        return 0;
      default:
        return 1;
    }
  }
  if (!status) return report_sacct(status.error());
  if (optind < argc) {
    view::print_error("sacct", "Unknown arguments:");
    for (; optind < argc; ++optind) view::print_error("sacct", std::string(" ") + argv[optind]);
    return 1;
  }
  if (!fields.empty() && long_list)
    return report_sacct(
        Error{kSacctFatal,
              "Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry."});
  options.format = fields;
  if (brief) options.format.append(kBriefFormat).append(1, ',');
  if (long_list) options.format += kLongFormat;
  if (options.format.empty()) {
    const char* from_environment = std::getenv("SACCT_FORMAT");
    options.format = from_environment != nullptr ? from_environment : "";
  }
  if (options.format.empty()) options.format = kDefaultFormat;
  return std::nullopt;
}

Status set_sacct_window(const SacctOptions& options, int64_t now, view::SacctQuestion& question) {
  const bool named = !question.jobs.empty() || !question.steps.empty();
  question.from = named ? 0 : question.filter_states ? now : midnight(now);
  // Now as an end is the end of this second, in which jobs here may have begun and ended; named jobs are
  // shown whatever is yet to begin.
  const int64_t until_now = question.filter_states ? now : now + 1;
  question.until = named && !question.filter_states ? 0 : until_now;
  if (options.from) {
    auto time = text::parse_time(*options.from, now, true);
    if (!time) return failure(time.error());
    question.from = *time;
    question.until = question.filter_states ? question.from : until_now;
  }
  if (options.until) {
    auto time = text::parse_time(*options.until, now, true);
    if (!time) return failure(time.error());
    question.until = *time == now && !question.filter_states ? until_now : *time;
  }
  return {};
}

}  // namespace minke::cli
