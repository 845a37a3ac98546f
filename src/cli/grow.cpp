#include "cli/grow.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cli/described_commands.h"
#include "cli/read_command.h"
#include "grow/actions.h"
#include "grow/changing.h"
#include "grow/growing.h"
#include "view/output.h"

namespace minke::cli {
namespace {

using enum options::ArgumentKind;

struct Arguments {
  grow::Asked asked;
  bool no_jobs_on_head = false;
};

// Columns: see options::Option.
constexpr options::Row<Arguments> kRows[] = {
    {{"discard", '\0', kNone, "",
      "undo: also where jobs have been submitted to Slurm since, which are lost then"},
     options::flag<&Arguments::asked, &grow::Asked::discard>},
    {{"gone", '\0', kNone, "",
      "remove: the machine cannot be reached any more; undo, shrink: leave those as they are that cannot"},
     options::flag<&Arguments::asked, &grow::Asked::gone>},
    {{"help", 'h', kNone, "", "show this help message"}, show_help<Arguments>},
    {{"leave", '\0', kNone, "",
      "plan, apply: what runs ends under Minke while new jobs go to Slurm; this machine joins then"},
     options::flag<&Arguments::asked, &grow::Asked::leave>},
    {{"no-jobs-on-head", '\0', kNone, "", "this machine serves the cluster, and runs no jobs of it"},
     options::flag<&Arguments::no_jobs_on_head>},
    {{"usage", '\0', kNone, "", "display brief usage message"}, show_usage<Arguments>},
    {{"version", 'V', kNone, "", "display current version number"}, show_version<Arguments>},
};

constexpr char kUsage[] =
    "Usage: minke grow plan|apply|status|check|undo|confirm|add|remove|agents|shrink [options] [HOST...]\n";
constexpr char kVerbs[] =
    "\n"
    "Commands:\n"
    "  plan HOST...    show machines, files and steps; nothing is changed\n"
    "  apply [HOST...] do it, or go on where it was interrupted\n"
    "  status          which steps are done\n"
    "  check           compare what Minke had with what Slurm has\n"
    "  undo            all the way back\n"
    "  confirm         keep it: there is no way back from then on\n"
    "  add HOST        another machine, while jobs run\n"
    "  remove NODE     one machine less, once its jobs have ended\n"
    "  agents          this program and minke agent, as they are here, on all machines\n"
    "  shrink          back to one machine, once all jobs have ended\n"
    "\n"
    "HOST is a name as ssh takes it; ssh root@HOST must work without a password. docs/growing.md says "
    "more.\n";

const options::Table<Arguments>& table() {
  static const auto* const kTable = new options::Table<Arguments>(
      {.name = "minke grow",
       .purpose = "the same cluster on more machines, by a real Slurm",
       .operands = "plan|apply|status|check|undo|confirm|add|remove|agents|shrink [HOST...]",
       .operand_values = "plan apply status check undo confirm add remove agents shrink",
       .usage = kUsage,
       .commands = kVerbs},
      kRows);
  return *kTable;
}

int complain(const Error& error) {
  view::print_error("minke grow", error.message);
  return 1;
}

int show_plan(const grow::Home& home, const Arguments& arguments) {
  grow::Wishes wishes;
  const auto plan = grow::plan(home, arguments.asked, "(made by apply)", wishes);
  if (!plan) return complain(plan.error());
  view::write_out(grow::plan_text(*plan));
  return plan->problems.empty() ? 0 : 1;
}

void tell(const std::string& line) {
  view::write_out(line + "\n");
  std::fflush(stdout);
}

int finish(const Status& status, const char* words) {
  if (!status) return complain(status.error());
  tell(words);
  return 0;
}

// What is wrong with the number of hosts; empty: nothing.
std::string wrong_hosts(const std::vector<std::string>& operands) {
  const std::string& verb = operands[0];
  if (verb == "plan" || verb == "apply") return {};
  const bool one = verb == "add" || verb == "remove";
  if (operands.size() == (one ? 2 : 1)) return {};
  return "minke grow " + verb + (one ? " takes one machine" : " takes no hosts");
}

int compare(const grow::Home& home) {
  bool equal = false;
  const auto words = grow::compare_with_before(home, equal);
  if (!words) return complain(words.error());
  view::write_out(*words);
  return equal ? 0 : 1;
}

int run(const std::string& verb, const grow::Home& home, const Arguments& arguments) {
  if (verb == "plan") return show_plan(home, arguments);
  if (verb == "apply")
    return finish(grow::apply(home, arguments.asked, tell),
                  "the cluster has grown: minke grow confirm keeps it, minke grow undo takes it back");
  if (verb == "settle") return finish(grow::settle(home, tell), "nothing runs under Minke any more");
  if (verb == "undo") return finish(grow::undo(home, arguments.asked, tell), "all is as it was before");
  const std::vector<std::string>& hosts = arguments.asked.hosts;
  if (verb == "add") return finish(grow::add_host(home, hosts[0], tell), "jobs run there now");
  if (verb == "remove")
    return finish(grow::remove_host(home, hosts[0], arguments.asked.gone, tell), "it is as it was before");
  if (verb == "agents") return finish(grow::start_agents(home, tell), "jobs are measured on all machines");
  if (verb == "check") return compare(home);
  if (verb == "shrink")
    return finish(grow::shrink(home, arguments.asked.gone, tell), "this is a cluster of one machine");
  if (verb == "confirm") return finish(grow::confirm(home), "confirmed");
  const auto text = grow::status(home);
  if (!text) return complain(text.error());
  view::write_out(*text);
  return 0;
}

}  // namespace

const options::Command& grow_command() {
  return table().command;
}

int grow_main(int argc, char** argv) {
  Arguments arguments;
  CommandRead read = read_command(table(), argc, argv, arguments);
  if (read.status) return *read.status;
  arguments.asked.head_computes = !arguments.no_jobs_on_head;
  // "settle" is what apply --leave starts.
  const std::vector<std::string> verbs = {"plan", "apply",  "status", "check",  "undo",  "confirm",
                                          "add",  "remove", "agents", "shrink", "settle"};
  if (read.operands.empty() || std::find(verbs.begin(), verbs.end(), read.operands[0]) == verbs.end()) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  arguments.asked.hosts.assign(read.operands.begin() + 1, read.operands.end());
  if (const std::string problem = wrong_hosts(read.operands); !problem.empty()) return complain({0, problem});
  const auto home = grow::open_home();
  if (!home) return complain(home.error());
  return run(read.operands[0], *home, arguments);
}

}  // namespace minke::cli
