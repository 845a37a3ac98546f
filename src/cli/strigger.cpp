// strigger: sets, shows and clears triggers. Reads its options, asks, prints.
//
// Events that cannot happen here are refused with the reason: there is one daemon, without a backup, and
// no database daemon.
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
#include "cli/described_commands.h"
#include "cli/read_command.h"
#include "engine/engine.h"
#include "engine/open.h"
#include "model/trigger.pb.h"
#include "options/values.h"
#include "os/user_id.h"
#include "text/number.h"
#include "text/printable.h"
#include "view/output.h"
#include "view/text.h"

namespace minke::cli {
namespace {

using model::Trigger;
using model::TriggerEvent;

using options::Given;
using enum options::ArgumentKind;
using Ended = std::optional<int>;

struct Event {
  TriggerEvent event;
  const char* name;  // its name in --get
};
constexpr std::array<Event, 10> kEvents = {{{model::TRIGGER_JOB_END, "fini"},
                                            {model::TRIGGER_JOB_TIME, "time"},
                                            {model::TRIGGER_NODE_UP, "up"},
                                            {model::TRIGGER_NODE_DOWN, "down"},
                                            {model::TRIGGER_NODE_DRAINED, "drained"},
                                            {model::TRIGGER_NODE_DRAINING, "draining"},
                                            {model::TRIGGER_NODE_RESUME, "resume"},
                                            {model::TRIGGER_NODE_FAIL, "fail"},
                                            {model::TRIGGER_NODE_IDLE, "idle"},
                                            {model::TRIGGER_RECONFIGURE, "reconfig"}}};

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

template <TriggerEvent kEvent>
Ended event(Arguments& arguments, const Given&) {
  arguments.events.push_back(kEvent);
  return std::nullopt;
}

Ended flags(Arguments& arguments, const Given& given) {
  if (!text::starts_with_ignoring_case(given.text(), "perm")) return wrong("Invalid flags " + given.text());
  arguments.permanent = true;
  return std::nullopt;
}

Ended user(Arguments& arguments, const Given& given) {
  const auto uid = os::user_id_of(given.text());
  if (!uid) return wrong("Invalid user " + given.text());
  arguments.uid = *uid;
  return std::nullopt;
}

Ended id(Arguments& arguments, const Given& given) {
  arguments.id = static_cast<uint32_t>(std::strtoul(given.text().c_str(), nullptr, 10));
  return std::nullopt;
}

Ended job_id(Arguments& arguments, const Given& given) {
  const auto job = text::parse_unsigned(given.text(), UINT32_MAX - 1);
  if (!job || *job == 0) return wrong("Invalid jobid " + given.text());
  arguments.job_id = static_cast<uint32_t>(*job);
  return std::nullopt;
}

Ended nodes(Arguments& arguments, const Given& given) {
  arguments.nodes = given.value.value_or("*");
  return std::nullopt;
}

Ended offset(Arguments& arguments, const Given& given) {
  const long seconds = std::strtol(given.text().c_str(), nullptr, 10);
  arguments.offset = static_cast<int>(std::clamp(seconds, -100000L, 100000L));
  return std::nullopt;
}

constexpr std::string_view kUsage =
    "Usage: strigger [--set | --get | --clear | --version] [-dDfFiIjnNopQrtuv]\n";
constexpr auto kNever = options::flag<&Arguments::never>;

// Columns: see options::Option.
constexpr options::Row<Arguments> kRows[] = {
    {{"backup_slurmctld_assumed_control", 'B', kNone}, kNever},
    {{"backup_slurmctld_failure", 'b', kNone}, kNever},
    {{"backup_slurmctld_resumed_operation", 'C', kNone}, kNever},
    {{"burst_buffer", '\0', kNone}, kNever},
    {{"clear", '\0', kNone, "", "delete a trigger, by --id, --jobid or --user"},
     options::flag<&Arguments::clear>},
    {{"cluster", '\0', kRequired}, clusters<&Arguments::clusters>},
    {{"clusters", 'M', kRequired, "name", "cluster to issue commands to", "", "SLURM_CLUSTERS"},
     clusters<&Arguments::clusters>},
    {{"down", 'd', kNone, "", "event: a node went down"}, event<model::TRIGGER_NODE_DOWN>},
    {{"drained", 'D', kNone, "", "event: a node takes no jobs and has none any more"},
     event<model::TRIGGER_NODE_DRAINED>},
    {{"draining", '\0', kNone, "", "event: a node takes no jobs any more, but has some"},
     event<model::TRIGGER_NODE_DRAINING>},
    {{"fail", 'F', kNone, "", "event: a node is marked as failing"}, event<model::TRIGGER_NODE_FAIL>},
    {{"fini", 'f', kNone, "", "event: the job has ended"}, event<model::TRIGGER_JOB_END>},
    {{"flags", '\0', kRequired, "perm", "the trigger stays when it has been pulled", "perm"}, flags},
    {{"front_end", '\0', kNone}, kNever},
    {{"get", '\0', kNone, "", "get trigger information: those that there are"},
     options::flag<&Arguments::get>},
    {{"help", '\0', kNone, "", "show this help message"}, show_help<Arguments>},
    {{"id", 'i', kRequired, "#", "number of a trigger"}, id},
    {{"idle", 'I', kNone, "", "event: a node has been idle for --offset"}, event<model::TRIGGER_NODE_IDLE>},
    {{"jobid", 'j', kRequired, "#", "the job", options::kJobIds}, job_id},
    {{"node", 'n', kOptional, "host", "these nodes, all by default", options::kNodeNames}, nodes},
    {{"noheader", 'N', kNone, "", "no titles"}, options::flag<&Arguments::no_header>},
    {{"offset", 'o', kRequired, "#", "seconds after the event; negative: before it"}, offset},
    {{"primary_database_failure", '\0', kNone}, kNever},
    {{"primary_database_resumed_operation", '\0', kNone}, kNever},
    {{"primary_slurmctld_acct_buffer_full", '\0', kNone}, kNever},
    {{"primary_slurmctld_failure", '\0', kNone}, kNever},
    {{"primary_slurmctld_resumed_control", '\0', kNone}, kNever},
    {{"primary_slurmctld_resumed_operation", '\0', kNone}, kNever},
    {{"primary_slurmdbd_failure", '\0', kNone}, kNever},
    {{"primary_slurmdbd_resumed_operation", '\0', kNone}, kNever},
    {{"program", 'p', kRequired, "path",
      "what is run, with arguments if need be; the job or the nodes are added to them", options::kFiles},
     options::keep<&Arguments::program>},
    {{"quiet", 'Q', kNone, "", "no complaint where there is nothing to clear"},
     options::flag<&Arguments::quiet>},
    {{"reconfig", 'r', kNone, "", "event: the configuration was read again"},
     event<model::TRIGGER_RECONFIGURE>},
    {{"resume", 'R', kNone, "", "event: a node takes jobs again"}, event<model::TRIGGER_NODE_RESUME>},
    {{"set", '\0', kNone, "", "create a trigger: a program is run once something happens"},
     options::flag<&Arguments::set>},
    {{"time", 't', kNone, "", "event: the job's time limit is reached"}, event<model::TRIGGER_JOB_TIME>},
    {{"up", 'u', kNone, "", "event: a node came back"}, event<model::TRIGGER_NODE_UP>},
    {{"usage", '\0', kNone, "", "display brief usage message"}, show_usage<Arguments>},
    {{"user", '\0', kRequired, "name", "triggers of this user", options::kUserNames}, user},
    {{"verbose", 'v', kNone, "", "print detailed messages: what has been done"},
     options::flag<&Arguments::verbose>},
    {{"version", 'V', kNone, "", "print version information and exit"}, show_version<Arguments>},
    // Letters of more such events.
    {{"", 'a', kNone}, kNever},
    {{"", 'A', kNone}, kNever},
    {{"", 'c', kNone}, kNever},
    {{"", 'e', kNone}, kNever},
    {{"", 'g', kNone}, kNever},
    {{"", 'G', kNone}, kNever},
    {{"", 'h', kNone}, kNever},
    {{"", 'H', kNone}, kNever},
};

const options::Table<Arguments>& table() {
  static const auto* const kTable =
      new options::Table<Arguments>({.name = "strigger",
                                     .purpose = "sets, shows and clears triggers",
                                     .operands = "[--set | --get | --clear]",
                                     .usage = kUsage},
                                    kRows);
  return *kTable;
}

Ended check_program(const std::string& program) {
  if (program.empty()) return std::nullopt;
  if (program[0] != '/') return wrong("The --program value must start with \"/\"");
  struct stat status {};
  if (::stat(program.substr(0, program.find_first_of(" \t\n")).c_str(), &status) != 0)
    return wrong("Invalid --program value, file not found");
  if (!S_ISREG(status.st_mode)) return wrong("Invalid --program value, not regular file");
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
        "You must specify a trigger (--down, --up, --drained, --draining, --resume, --fail, --idle, "
        "--reconfig, --time or "
        "--fini)");
  if (arguments.set && arguments.program.empty()) return wrong("You must specify a --program value");
  for (const TriggerEvent event : arguments.events) {
    if ((event == model::TRIGGER_JOB_END || event == model::TRIGGER_JOB_TIME) && arguments.job_id == 0)
      return wrong("You must specify a --jobid value");
  }
  if (const Ended ended = check_program(arguments.program)) return ended;
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
  // As in Slurm, all named events must be this one.
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

const options::Command& strigger_command() {
  return table().command;
}

int strigger_main(int argc, char** argv) {
  Arguments arguments;
  if (const Ended ended = read_command(table(), argc, argv, arguments).status) return *ended;
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
