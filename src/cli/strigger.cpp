// strigger: sets, shows and clears triggers. Reads its options, asks, prints.
//
// What cannot happen here is refused with the reason: there is one daemon, without a backup, and no database
// daemon.
#include <getopt.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/actions.pb.h"
#include "api/triggers.pb.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/version_line.h"
#include "engine/engine.h"
#include "engine/open.h"
#include "model/trigger.pb.h"
#include "os/user_id.h"
#include "text/number.h"
#include "text/printable.h"
#include "view/output.h"
#include "view/text.h"

namespace minke::cli {
namespace {

using model::Trigger;
using model::TriggerEvent;

constexpr const char* kHelp =
    "Usage: strigger [--set | --get | --clear] [OPTIONS]\n"
    "      --set             create a trigger: a program is run once something happens\n"
    "      --get             get trigger information: those that there are\n"
    "      --clear           delete a trigger, by --id, --jobid or --user\n"
    "\nEvents:\n"
    "  -f, --fini            the job has ended\n"
    "  -t, --time            the job's time limit is reached\n"
    "  -d, --down            a node went down\n"
    "  -u, --up              a node came back\n"
    "  -D, --drained         a node takes no jobs and has none any more\n"
    "  -F, --fail            a node is marked as failing\n"
    "  -I, --idle            a node has been idle for --offset\n"
    "  -r, --reconfig        the configuration was read again\n"
    "\nOptions:\n"
    "      --flags=perm      the trigger stays when it has been pulled\n"
    "  -i, --id=#            number of a trigger\n"
    "  -j, --jobid=#         the job\n"
    "  -M, --cluster=name    cluster to issue commands to\n"
    "  -n, --node[=host]     these nodes, all by default\n"
    "  -N, --noheader        no titles\n"
    "  -o, --offset=#        seconds after the event; negative: before it\n"
    "  -p, --program=path    what is run, with arguments if need be; the job or the nodes are added to them\n"
    "  -Q, --quiet           no complaint where there is nothing to clear\n"
    "      --user=name       triggers of this user\n"
    "  -v, --verbose         print detailed messages: what has been done\n"
    "  -V, --version         print version information and exit\n"
    "\nHelp options:\n"
    "  --help                show this help message\n"
    "  --usage               display brief usage message\n";

enum LongOption {
  kClearOption = 256,
  kFlagsOption,
  kGetOption,
  kHelpOption,
  kSetOption,
  kUsageOption,
  kUserOption,
  kNeverOption  // an event that cannot be
};

constexpr option kLongOptions[] = {
    {"backup_slurmctld_assumed_control", no_argument, nullptr, kNeverOption},
    {"backup_slurmctld_failure", no_argument, nullptr, kNeverOption},
    {"backup_slurmctld_resumed_operation", no_argument, nullptr, kNeverOption},
    {"burst_buffer", no_argument, nullptr, kNeverOption},
    {"clear", no_argument, nullptr, kClearOption},
    {"cluster", required_argument, nullptr, 'M'},
    {"clusters", required_argument, nullptr, 'M'},
    {"down", no_argument, nullptr, 'd'},
    {"drained", no_argument, nullptr, 'D'},
    {"fail", no_argument, nullptr, 'F'},
    {"fini", no_argument, nullptr, 'f'},
    {"flags", required_argument, nullptr, kFlagsOption},
    {"front_end", no_argument, nullptr, kNeverOption},
    {"get", no_argument, nullptr, kGetOption},
    {"help", no_argument, nullptr, kHelpOption},
    {"id", required_argument, nullptr, 'i'},
    {"idle", no_argument, nullptr, 'I'},
    {"jobid", required_argument, nullptr, 'j'},
    {"node", optional_argument, nullptr, 'n'},
    {"noheader", no_argument, nullptr, 'N'},
    {"offset", required_argument, nullptr, 'o'},
    {"primary_database_failure", no_argument, nullptr, kNeverOption},
    {"primary_database_resumed_operation", no_argument, nullptr, kNeverOption},
    {"primary_slurmctld_acct_buffer_full", no_argument, nullptr, kNeverOption},
    {"primary_slurmctld_failure", no_argument, nullptr, kNeverOption},
    {"primary_slurmctld_resumed_control", no_argument, nullptr, kNeverOption},
    {"primary_slurmctld_resumed_operation", no_argument, nullptr, kNeverOption},
    {"primary_slurmdbd_failure", no_argument, nullptr, kNeverOption},
    {"primary_slurmdbd_resumed_operation", no_argument, nullptr, kNeverOption},
    {"program", required_argument, nullptr, 'p'},
    {"quiet", no_argument, nullptr, 'Q'},
    {"reconfig", no_argument, nullptr, 'r'},
    {"set", no_argument, nullptr, kSetOption},
    {"time", no_argument, nullptr, 't'},
    {"up", no_argument, nullptr, 'u'},
    {"usage", no_argument, nullptr, kUsageOption},
    {"user", required_argument, nullptr, kUserOption},
    {"verbose", no_argument, nullptr, 'v'},
    {"version", no_argument, nullptr, 'V'},
    {nullptr, 0, nullptr, 0}};

struct Event {
  int letter;
  TriggerEvent event;
  const char* name;  // as --get tells it
};
constexpr std::array<Event, 8> kEvents = {{{'f', model::TRIGGER_JOB_END, "fini"},
                                           {'t', model::TRIGGER_JOB_TIME, "time"},
                                           {'u', model::TRIGGER_NODE_UP, "up"},
                                           {'d', model::TRIGGER_NODE_DOWN, "down"},
                                           {'D', model::TRIGGER_NODE_DRAINED, "drained"},
                                           {'F', model::TRIGGER_NODE_FAIL, "fail"},
                                           {'I', model::TRIGGER_NODE_IDLE, "idle"},
                                           {'r', model::TRIGGER_RECONFIGURE, "reconfig"}}};

struct Arguments {
  bool set = false, get = false, clear = false, never = false;
  bool no_header = false, quiet = false, verbose = false, permanent = false;
  std::vector<TriggerEvent> events;
  uint32_t id = 0, job_id = 0;
  std::optional<uint32_t> uid;
  std::optional<std::string> nodes, clusters;
  int offset = 0;
  std::string program;
};

int wrong(const std::string& message) {
  std::fprintf(stderr, "strigger: error: %s\n", message.c_str());
  return 1;
}

int fail(const char* call, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", call, error.message.c_str());
  return 1;
}

// The result: an exit status where nothing further is to be done.
std::optional<int> take(Arguments& arguments, int letter) {
  for (const Event& event : kEvents) {
    if (event.letter != letter) continue;
    arguments.events.push_back(event.event);
    return std::nullopt;
  }
  switch (letter) {
    case kSetOption:
      arguments.set = true;
      break;
    case kGetOption:
      arguments.get = true;
      break;
    case kClearOption:
      arguments.clear = true;
      break;
    case kFlagsOption:
      if (!text::starts_with_ignoring_case(optarg, "perm"))
        return wrong(std::string("Invalid flags ") + optarg);
      arguments.permanent = true;
      break;
    case kUserOption: {
      const auto uid = os::user_id_of(optarg);
      if (!uid) return wrong(std::string("Invalid user ") + optarg);
      arguments.uid = *uid;
      break;
    }
    case 'i':
      arguments.id = static_cast<uint32_t>(std::strtoul(optarg, nullptr, 10));
      break;
    case 'j': {
      const auto job = text::parse_unsigned(optarg, UINT32_MAX - 1);
      if (!job || *job == 0) return wrong(std::string("Invalid jobid ") + optarg);
      arguments.job_id = static_cast<uint32_t>(*job);
      break;
    }
    case 'M':
      arguments.clusters = optarg;
      break;
    case 'n':
      arguments.nodes = optarg == nullptr ? "*" : optarg;
      break;
    case 'N':
      arguments.no_header = true;
      break;
    case 'o':
      arguments.offset = static_cast<int>(std::clamp(std::strtol(optarg, nullptr, 10), -100000L, 100000L));
      break;
    case 'p':
      arguments.program = optarg;
      break;
    case 'Q':
      arguments.quiet = true;
      break;
    case 'v':
      arguments.verbose = true;
      break;
    case 'V':
      view::write_out(kVersionLine);
      return 0;
    case kHelpOption:
      view::write_out(kHelp);
      return 0;
    case kUsageOption:
      view::write_out("Usage: strigger [--set | --get | --clear | --version] [-dDfFiIjnNopQrtuv]\n");
      return 0;
    case '?':
      std::fputs("Try \"strigger --help\" for more information\n", stderr);
      return 1;
    default:
      arguments.never = true;
  }
  return std::nullopt;
}

std::optional<int> check(const Arguments& arguments) {
  if (arguments.set + arguments.get + arguments.clear != 1)
    return wrong("You must use exactly one of the following options: --set, --get or --clear");
  if (arguments.clear && !arguments.uid && arguments.id == 0 && arguments.job_id == 0)
    return wrong("You must specify a --id, --jobid, or --user to clear");
  if (arguments.set && arguments.never)
    return wrong(
        "there is one daemon, without a backup, a database daemon or burst buffers: this never happens");
  if (arguments.set && arguments.events.empty())
    return wrong(
        "You must specify a trigger (--down, --up, --drained, --fail, --idle, --reconfig, --time or --fini)");
  if (arguments.set && arguments.program.empty()) return wrong("You must specify a --program value");
  for (const TriggerEvent event : arguments.events) {
    if ((event == model::TRIGGER_JOB_END || event == model::TRIGGER_JOB_TIME) && arguments.job_id == 0)
      return wrong("You must specify a --jobid value");
  }
  if (!arguments.program.empty()) {
    if (arguments.program[0] != '/') return wrong("The --program value must start with \"/\"");
    struct stat status {};
    if (::stat(arguments.program.substr(0, arguments.program.find_first_of(" \t\n")).c_str(), &status) != 0)
      return wrong("Invalid --program value, file not found");
    if (!S_ISREG(status.st_mode)) return wrong("Invalid --program value, not regular file");
  }
  if (std::abs(arguments.offset) > 32000) return wrong("The --offset parameter must be between +/-32000");
  return std::nullopt;
}

int set(engine::TriggerAbility& ability, const Arguments& arguments) {
  api::SetTriggersRequest request;
  for (const TriggerEvent event : arguments.events) {
    Trigger& trigger = *request.add_triggers();
    trigger.set_event(event);
    trigger.set_job_id(arguments.job_id);
    if (arguments.job_id == 0) trigger.set_node_list(arguments.nodes.value_or("*"));
    trigger.set_offset(arguments.offset);
    trigger.set_permanent(arguments.permanent);
    trigger.set_program(arguments.program);
  }
  if (const auto answer = ability.set_triggers(request); !answer)
    return fail("slurm_set_trigger", answer.error());
  if (arguments.verbose) std::fputs("strigger: trigger set\n", stderr);
  return 0;
}

int clear(engine::TriggerAbility& ability, const Arguments& arguments) {
  api::ClearTriggersRequest request;
  request.set_id(arguments.id);
  request.set_job_id(arguments.job_id);
  if (arguments.uid) request.set_uid(*arguments.uid);
  if (const auto answer = ability.clear_triggers(request); !answer)
    return arguments.quiet ? 0 : fail("slurm_clear_trigger", answer.error());
  if (!arguments.verbose) return 0;
  if (arguments.job_id != 0) {
    std::fprintf(stderr, "strigger: triggers for job %u cleared\n", arguments.job_id);
  } else if (arguments.uid) {
    std::fprintf(stderr, "strigger: triggers for user %u cleared\n", *arguments.uid);
  } else {
    std::fprintf(stderr, "strigger: trigger %u cleared\n", arguments.id);
  }
  return 0;
}

bool is_wanted(const Trigger& trigger, const Arguments& arguments) {
  // As in Slurm, all of the events that are named must be this one.
  for (const TriggerEvent event : arguments.events)
    if (trigger.event() != event) return false;
  return !arguments.never && (arguments.id == 0 || trigger.id() == arguments.id) &&
         (arguments.job_id == 0 || trigger.job_id() == arguments.job_id) &&
         (!arguments.nodes || trigger.job_id() == 0) && (!arguments.uid || trigger.uid() == *arguments.uid);
}

int get(engine::TriggerAbility& ability, const Arguments& arguments) {
  const auto answer = ability.all_triggers();
  if (!answer) return fail("slurm_get_triggers", answer.error());
  const auto& triggers = answer->triggers();
  if (arguments.verbose) std::fprintf(stderr, "strigger: Read %d trigger records\n", triggers.size());
  bool titled = arguments.no_header;
  for (const Trigger& trigger : triggers) {
    if (!is_wanted(trigger, arguments)) continue;
    if (!titled) {
      std::puts(
          "TRIG_ID RES_TYPE   RES_ID TYPE                                OFFSET USER     FLAGS PROGRAM");
      titled = true;
    }
    const char* type = "";
    for (const Event& event : kEvents)
      if (event.event == trigger.event()) type = event.name;
    const std::string resource = trigger.job_id() != 0         ? std::to_string(trigger.job_id())
                                 : trigger.node_list().empty() ? "*"
                                                               : trigger.node_list();
    std::printf("%7u %-9s %7s %-35s %6d %-8s %-5s %s\n", trigger.id(), trigger.job_id() != 0 ? "job" : "node",
                text::printable(resource).c_str(), type, trigger.offset(),
                view::user_name_of(trigger.uid()).c_str(), trigger.permanent() ? "PERM" : "",
                text::printable(trigger.program()).c_str());
  }
  return 0;
}

}  // namespace

int strigger_main(int argc, char** argv) {
  Arguments arguments;
  arguments.clusters = clusters_from_environment();
  optind = 0;
  int letter;
  while ((letter = getopt_long(argc, argv, "aAbBcCdDefFgGhHi:Ij:M:n::No:p:QrtuvV", kLongOptions, nullptr)) !=
         -1) {
    if (const auto status = take(arguments, letter)) return *status;
  }
  if (const auto status = check(arguments)) return *status;
  auto cluster = engine::open();
  if (!cluster) return fail("strigger", cluster.error());
  if (!check_clusters(**cluster, "strigger", arguments.clusters)) return 1;
  const auto ability = (*cluster)->triggers();
  if (!ability) return fail("strigger", ability.error());
  return arguments.set     ? set(**ability, arguments)
         : arguments.clear ? clear(**ability, arguments)
                           : get(**ability, arguments);
}

}  // namespace minke::cli
