// The command line and the environment of squeue.
#include <getopt.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "cli/clusters.h"
#include "cli/document_output.h"
#include "cli/squeue_options.h"
#include "cli/version_line.h"
#include "engine/fetch.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/job_id.h"
#include "text/list.h"
#include "text/number.h"
#include "text/state.h"
#include "view/output.h"
#include "view/print_fields.h"
#include "view/squeue.h"

namespace minke::cli {
namespace {

constexpr const char* kUsage =
    "Usage: squeue [-A account] [--clusters names] [-i seconds] [--job jobid]\n"
    "              [-n name] [-o format] [-p partitions] [--qos qos]\n"
    "              [--reservation reservation] [--sort fields] [--start]\n"
    "              [--step step_id] [-t states] [-u user_name] [--usage]\n"
    "              [-L licenses] [-w nodes] [--federation] [--local] [--sibling]\n"
    "\t      [-ahjlrsv]\n";

constexpr const char* kHelp =
    "Usage: squeue [OPTIONS]\n"
    "  -A, --account=account(s)        comma separated list of accounts\n"
    "  -a, --all                       also jobs in hidden partitions\n"
    "  -h, --noheader                  no headers on output\n"
    "      --helpformat                the names that -O knows\n"
    "      --hide                      no jobs in hidden partitions\n"
    "  -i, --iterate=seconds           again every so many seconds\n"
    "  -j, --jobs=job(s)               comma separated list of jobs, default is all\n"
    "      --json[=data_parser]        all that is known of the jobs, as JSON\n"
    "  -l, --long                      long report\n"
    "  -L, --licenses=license(s)       comma separated list of licenses\n"
    "      --me                        one's own jobs\n"
    "      --notme                     others' jobs\n"
    "  -n, --name=job_name(s)          comma separated list of job names\n"
    "      --noconvert                 2048M, not 2G\n"
    "  -o, --format=format             what to print: %[[.]width]letter\n"
    "  -O, --Format=format             what to print: name[:[.]width],...\n"
    "      --only-job-state            only job ids and states\n"
    "  -p, --partition=partition(s)    comma separated list of partitions\n"
    "  -P, --priority                  a line for each partition a job waits for\n"
    "  -q, --qos=qos(s)                comma separated list of QOS\n"
    "  -r, --array                     a line for each task of an array\n"
    "  -R, --reservation=name          jobs of this reservation\n"
    "      --running-over=time         jobs that run for longer\n"
    "      --running-under=time        jobs that run for less\n"
    "  -s, --steps[=step(s)]           steps, not jobs\n"
    "  -S, --sort=fields               comma separated list of fields to sort on\n"
    "      --start                     expected start times of waiting jobs\n"
    "  -t, --states=states             comma separated list of states, or \"all\"\n"
    "  -u, --user=user_name(s)         comma separated list of users\n"
    "  -V, --version                   version and exit\n"
    "  -w, --nodelist=hostlist         jobs on these nodes\n"
    "      --yaml[=data_parser]        all that is known of the jobs, as YAML\n"
    "\nHelp options:\n"
    "      --help                      show this help message\n"
    "      --usage                     display brief usage message\n";

enum LongOption {
  kHelpOption = 256,
  kHide,
  kMe,
  kNotMe,
  kNoConvert,
  kHelpFormat,
  kOnlyJobState,
  kRunningOver,
  kRunningUnder,
  kStart,
  kUsageOption,
  kIgnored
};

constexpr option kLongOptions[] = {{"account", required_argument, nullptr, 'A'},
                                   {"accounts", required_argument, nullptr, 'A'},
                                   {"all", no_argument, nullptr, 'a'},
                                   {"array", no_argument, nullptr, 'r'},
                                   {"array-unique", no_argument, nullptr, kIgnored},
                                   {"cluster", required_argument, nullptr, 'M'},
                                   {"clusters", required_argument, nullptr, 'M'},
                                   {"expand-patterns", no_argument, nullptr, kIgnored},
                                   {"Format", required_argument, nullptr, 'O'},
                                   {"federation", no_argument, nullptr, kIgnored},
                                   {"format", required_argument, nullptr, 'o'},
                                   {"help", no_argument, nullptr, kHelpOption},
                                   {"helpFormat", no_argument, nullptr, kHelpFormat},
                                   {"helpformat", no_argument, nullptr, kHelpFormat},
                                   {"hide", no_argument, nullptr, kHide},
                                   {"iterate", required_argument, nullptr, 'i'},
                                   {"jobs", optional_argument, nullptr, 'j'},
                                   {"json", optional_argument, nullptr, kJsonOption},
                                   {"licenses", required_argument, nullptr, 'L'},
                                   {"local", no_argument, nullptr, kIgnored},
                                   {"long", no_argument, nullptr, 'l'},
                                   {"me", no_argument, nullptr, kMe},
                                   {"name", required_argument, nullptr, 'n'},
                                   {"names", required_argument, nullptr, 'n'},
                                   {"noconvert", no_argument, nullptr, kNoConvert},
                                   {"node", required_argument, nullptr, 'w'},
                                   {"nodes", required_argument, nullptr, 'w'},
                                   {"nodelist", required_argument, nullptr, 'w'},
                                   {"noheader", no_argument, nullptr, 'h'},
                                   {"notme", no_argument, nullptr, kNotMe},
                                   {"only-job-state", no_argument, nullptr, kOnlyJobState},
                                   {"partition", required_argument, nullptr, 'p'},
                                   {"partitions", required_argument, nullptr, 'p'},
                                   {"priority", no_argument, nullptr, 'P'},
                                   {"qos", required_argument, nullptr, 'q'},
                                   {"reservation", required_argument, nullptr, 'R'},
                                   {"running-over", required_argument, nullptr, kRunningOver},
                                   {"running-under", required_argument, nullptr, kRunningUnder},
                                   {"sib", no_argument, nullptr, kIgnored},
                                   {"sibling", no_argument, nullptr, kIgnored},
                                   {"sort", required_argument, nullptr, 'S'},
                                   {"start", no_argument, nullptr, kStart},
                                   {"state", required_argument, nullptr, 't'},
                                   {"states", required_argument, nullptr, 't'},
                                   {"steps", optional_argument, nullptr, 's'},
                                   {"usage", no_argument, nullptr, kUsageOption},
                                   {"user", required_argument, nullptr, 'u'},
                                   {"users", required_argument, nullptr, 'u'},
                                   {"verbose", no_argument, nullptr, 'v'},
                                   {"version", no_argument, nullptr, 'V'},
                                   {"yaml", optional_argument, nullptr, kYamlOption},
                                   {nullptr, 0, nullptr, 0}};

// A list without a name in it, as of a variable that is not set: nothing has such a name.
void set_names(std::string_view text, std::vector<std::string>& names, view::SqueueOptions& options) {
  names = text::split_list(text);
  options.nothing = options.nothing || names.empty();
}

Status set_states(std::string_view text, view::SqueueOptions& options) {
  options.states.clear();
  options.completing_state = options.configuring_state = options.all_states = false;
  options.filter_states = true;
  if (text::equals_ignoring_case(text, "all")) {
    options.all_states = true;
    return {};
  }
  for (const std::string& word : text::split_list(text)) {
    Result<text::StateWord> state = text::parse_job_state(word);
    if (!state) {
      view::print_error("squeue", "Invalid job state specified: " + word);
      return failure(
          "Valid job states include: PENDING,RUNNING,SUSPENDED,COMPLETED,CANCELLED,FAILED,TIMEOUT,NODE_FAIL,"
          "PREEMPTED,BOOT_FAIL,DEADLINE,OUT_OF_MEMORY,COMPLETING,CONFIGURING,RESIZING,RESV_DEL_HOLD,"
          "REQUEUED,REQUEUE_FED,REQUEUE_HOLD,REVOKED,SIGNALING,SPECIAL_EXIT,STAGE_OUT,STOPPED\n");
    }
    if (state->state) options.states.push_back(*state->state);
    options.completing_state = options.completing_state || state->completing;
    options.configuring_state = options.configuring_state || text::equals_ignoring_case(word, "CF") ||
                                text::equals_ignoring_case(word, "CONFIGURING");
  }
  return {};
}

Status set_iterate(const char* text, view::SqueueOptions& options) {
  auto seconds = text::parse_unsigned(text, 1000000);
  if (!seconds || *seconds == 0) return failure("--iterate=" + std::string(text) + "\n");
  options.iterate_seconds = static_cast<unsigned>(*seconds);
  return {};
}

Status add_jobs(std::string_view text, view::SqueueOptions& options) {
  auto references = text::parse_job_id_list(text);
  if (!references) return failure("Invalid job id: " + std::string(text));
  for (const text::JobReference& reference : *references)
    options.jobs.push_back(engine::selector_of(reference));
  options.nothing = options.nothing || options.jobs.empty();
  return {};
}

Status add_steps(std::string_view text, view::SqueueOptions& options) {
  auto references = text::parse_job_id_list(text);
  if (!references) return failure("Invalid job_step id: " + std::string(text));
  for (const text::JobReference& reference : *references) {
    view::StepSelector selector;
    selector.job = engine::selector_of(reference);
    if (reference.step) {
      selector.kind = reference.step->kind;
      selector.step_id = reference.step->step_id;
    }
    options.steps.push_back(std::move(selector));
  }
  return {};
}

Status read_environment(view::SqueueOptions& options) {
  auto list = [&](const char* name, std::vector<std::string>& values) {
    if (const char* value = std::getenv(name)) set_names(value, values, options);
  };
  list("SQUEUE_ACCOUNT", options.accounts);
  list("SQUEUE_LICENSES", options.licenses);
  list("SQUEUE_NAMES", options.names);
  list("SQUEUE_PARTITION", options.partitions);
  list("SQUEUE_QOS", options.qos);
  list("SQUEUE_USERS", options.users);
  options.array = std::getenv("SQUEUE_ARRAY") != nullptr;
  options.per_partition = std::getenv("SQUEUE_PRIORITY") != nullptr;
  if (const char* value = std::getenv("SQUEUE_FORMAT")) {
    options.format = value;
  } else if (const char* names = std::getenv("SQUEUE_FORMAT2")) {
    options.long_format = names;
  }
  if (const char* value = std::getenv("SQUEUE_SORT")) options.sort = value;
  if (const char* value = std::getenv("SQUEUE_STATES")) return set_states(value, options);
  return {};
}

}  // namespace

std::optional<int> read_squeue_arguments(int argc, char** argv, view::SqueueOptions& options) {
  bool format_given = false;
  bool jobs_flag = false;
  options.clusters = clusters_from_environment();
  Status status = read_environment(options);
  optind = 0;
  int letter;
  while (status && (letter = getopt_long(argc, argv, "A:ahi:j::lL:M:n:O:o:p:Pq:R:rS:s::t:u:vVw:",
                                         kLongOptions, nullptr)) != -1) {
    switch (letter) {
      case 'A':
        set_names(optarg, options.accounts, options);
        break;
      case 'M':
        options.clusters = optarg;
        break;
      case 'v':
        options.verbose = true;
        break;
      case 'a':
      case kHide:
      case kIgnored:
        break;  // one cluster, with nothing hidden
      case 'h':
        options.no_header = true;
        break;
      case 'i':
        status = set_iterate(optarg, options);
        break;
      case 'j':
        jobs_flag = true;
        if (optarg != nullptr) status = add_jobs(optarg, options);
        break;
      case 'l':
        options.long_list = true;
        break;
      case 'L':
        set_names(optarg, options.licenses, options);
        break;
      case 'n':
        set_names(optarg, options.names, options);
        break;
      case 'O':
      case 'o':
        if (format_given && (letter == 'O' ? options.format : options.long_format).has_value())
          return view::print_error("squeue", "-O (--Format) is incompatible with -o (--format)"), 1;
        format_given = true;
        options.format.reset();
        options.long_format.reset();
        (letter == 'O' ? options.long_format : options.format) = optarg;
        break;
      case 'p':
        set_names(optarg, options.partitions, options);
        break;
      case 'P':
        options.per_partition = true;
        break;
      case 'q':
        set_names(optarg, options.qos, options);
        break;
      case 'R':
        options.reservations = text::split_list(optarg);
        break;
      case 'r':
        options.array = true;
        break;
      case 'S':
        options.sort = optarg;
        break;
      case 's':
        options.show_steps = true;
        if (optarg != nullptr) status = add_steps(optarg, options);
        break;
      case 't':
        status = set_states(optarg, options);
        break;
      case 'u':
        set_names(optarg, options.users, options);
        break;
      case 'V':
        view::write_out(kVersionLine);
        return 0;
      case 'w': {
        auto hosts = text::expand_hostlist(optarg);
        if (!hosts) return view::print_error("squeue", "Invalid node name " + std::string(optarg)), 1;
        options.nodes = std::move(*hosts);
        options.nothing = options.nothing || options.nodes.empty();
        break;
      }
      case kHelpOption:
        view::write_out(kHelp);
        return 0;
      case kMe:
        options.me = true;
        break;
      case kNotMe:
        options.not_uid = getuid();
        break;
      case kHelpFormat: {
        std::vector<std::string_view> names;
        for (const view::JobField& field : view::job_fields()) names.push_back(field.name);
        view::write_out(view::print_help_format(names, 19));
        return 0;
      }
      case kNoConvert:
        options.no_convert = true;
        break;
      case kOnlyJobState:
        options.only_job_state = true;
        break;
      case kRunningOver:
      case kRunningUnder: {
        const auto seconds = text::parse_seconds(optarg);
        if (!seconds) {
          status = failure("Invalid time specification: " + std::string(optarg));
        } else {
          (letter == kRunningOver ? options.running_over : options.running_under) = *seconds;
        }
        break;
      }
      case kStart:
        options.start = true;
        break;
      case kJsonOption:
      case kYamlOption:
        if (auto ended = read_document_option("squeue", letter, optarg, options.document)) return ended;
        break;
      case kUsageOption:
        view::write_out(kUsage);
        return 0;
      default:
        std::fputs("Try \"squeue --help\" for more information\n", stderr);
        return 1;
    }
  }
  // "-j 12" and "-s 12.0": the value of an optional argument that stands by itself.
  if (status && optind < argc && jobs_flag && options.jobs.empty()) {
    status = add_jobs(argv[optind++], options);
  } else if (status && optind < argc && options.show_steps && options.steps.empty()) {
    status = add_steps(argv[optind++], options);
  }
  if (!status) return view::print_error("squeue", status.error().message), 1;
  if (optind < argc) {
    view::print_error("squeue", std::string("Unrecognized option: ") + argv[optind]);
    view::write_out(kUsage);
    return 1;
  }
  return std::nullopt;
}

}  // namespace minke::cli
