#include "cli/described_commands.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "cli/app_description.h"
#include "cli/chain.h"
#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/configuration_page.h"
#include "cli/farm/farm.h"
#include "cli/parse_options.h"
#include "cli/storage/storage.h"
#include "cli/subcommands/subcommands.h"
#include "cli/sweep.h"
#include "cli/usage_description.h"
#include "cli/wheels.h"
#include "options/completion.h"
#include "options/help.h"
#include "options/values.h"
#include "submit/completion.h"
#include "submit/help.h"
#include "submit/job_request.h"
#include "text/printable.h"
#include "view/output.h"
#include "view/page_as_manual.h"

namespace minke::cli {
namespace {

constexpr submit::Command kSubmitting[] = {submit::Command::kSbatch, submit::Command::kSalloc,
                                           submit::Command::kSrun};
constexpr const options::Command& (*kLooking[])() = {
    sacct_command,  sacctmgr_command, sattach_command,  sbcast_command,   scancel_command, scontrol_command,
    sdiag_command,  sgather_command,  sinfo_command,    sprio_command,    squeue_command,  sreport_command,
    sshare_command, sstat_command,    strigger_command, scrontab_command, swait_command};

// Commands that have no table here, described by themselves.
struct OwnCommand {
  const char* name;
  int (*run)(int argc, char** argv);
};
constexpr OwnCommand kOwn[] = {{"minke cp", cp_main},
                               {"minke sync", sync_main},
                               {"minke pack", pack_main},
                               {"minke unpack", unpack_main},
                               {"minke data", data_main},
                               {"minke stage", stage_main},
                               {"minke restore", restore_main},
                               {"minke storage", storage_main},
                               {"avail_wheels", avail_wheels_main},
                               {"diskusage_report", diskusage_report_main},
                               {"minke sweep", sweep_main}};

// Commands that print a usage text of their own.
struct UsageCommand {
  const char* name;
  std::string_view (*usage)();
  const char* operands;
};
constexpr UsageCommand kWithUsage[] = {{"chain", chain_usage, "[sbatch's options] script [arguments]"},
                                       {"farm", farm_usage, "verb [sbatch's options] [-- command ...]"}};

// All that are Minke's: minke itself with a page of its own, what stands below it, and the few beside it.
DescribedApps own_commands() {
  DescribedApps own;
  CLI::App app{"a research cluster in one program, with Slurm's commands", "minke"};
  int exit_code = 0;
  app.set_version_flag("--version", "minke");
  add_minke_commands(app, exit_code);
  describe(app, "minke", own);
  own.commands.front().operands = "[command [options]]";
  std::string commands = "Commands (minke-NAME(1) tells more):\n";
  for (const CLI::App* sub :
       app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); })) {
    commands += "  " + sub->get_name() + "\n      " + sub->get_description() + "\n";
    const std::string name = "minke " + sub->get_name();
    const auto is_it = [&name](const OwnCommand& one) { return one.name == name; };
    if (sub->get_name() == "grow") continue;
    const auto with_usage =
        std::find_if(std::begin(kWithUsage), std::end(kWithUsage),
                     [&](const UsageCommand& one) { return sub->get_name() == one.name; });
    if (with_usage != std::end(kWithUsage)) {
      describe_usage(name, sub->get_description(), with_usage->operands, with_usage->usage(), own);
      continue;
    }
    if (std::none_of(std::begin(kOwn), std::end(kOwn), is_it)) describe(*sub, name, own);
  }
  own.commands.front().commands = own.texts.emplace_back(std::move(commands));
  for (const OwnCommand& one : kOwn) {
    const AppDescriptions descriptions(
        [&](const CLI::App& described) { describe(described, one.name, own); });
    std::string name = one.name, option = "--help";
    char* words[] = {name.data(), option.data(), nullptr};
    one.run(2, words);
  }
  own.commands.push_back(grow_command());
  own.commands.push_back({.name = "seff",
                          .purpose = "what a job used of what it asked for",
                          .operands = "jobid",
                          .operand_values = options::kJobIds});
  options::Command sq = squeue_command();
  sq.name = "sq";
  sq.purpose = "your own jobs, in the columns of the Alliance's clusters; it takes the options of squeue";
  own.commands.push_back(std::move(sq));
  return own;
}

}  // namespace

int man(const std::string& page) {
  std::string names;
  for (const auto command : kSubmitting) {
    if (page == submit::command_name(command)) return view::write_out(submit::man_page(command)), 0;
    names.append(" ").append(submit::command_name(command));
  }
  for (const auto& command : kLooking) {
    if (page == command().name) return view::write_out(options::man_page(command())), 0;
    names.append(" ").append(command().name);
  }
  const DescribedApps own = own_commands();
  for (const options::Command& command : own.commands) {
    std::string_view name = command.name;
    if (name.starts_with("minke ")) name.remove_prefix(6);
    if (page == name || page == command.name) return view::write_out(options::man_page(command)), 0;
    names.append(" ").append(name);
  }
  if (page == "minke.toml")
    return view::write_out(
               view::page_as_manual(kConfigurationPage, {"minke.toml", 5, "the configuration of a cluster"})),
           0;
  names += " minke.toml";
  return complain(
      Error{0, "there is no manual page of " + text::printable(page) + "; there are those of" + names});
}

int completion(const std::string& shell) {
  std::vector<options::Command> commands;
  for (const auto command : kSubmitting) commands.push_back(submit::completed_command(command));
  for (const auto& command : kLooking) commands.push_back(command());
  const DescribedApps own = own_commands();
  for (const options::Command& command : own.commands)
    if (command.name != "minke") commands.push_back(command);
  view::write_out(options::completion_script(*options::shell_of(shell), commands));
  return 0;
}

}  // namespace minke::cli
