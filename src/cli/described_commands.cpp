#include "cli/described_commands.h"

#include <vector>

#include "cli/complain.h"
#include "options/completion.h"
#include "options/help.h"
#include "options/values.h"
#include "submit/completion.h"
#include "submit/help.h"
#include "submit/job_request.h"
#include "view/output.h"

namespace minke::cli {
namespace {

constexpr submit::Command kSubmitting[] = {submit::Command::kSbatch, submit::Command::kSalloc,
                                           submit::Command::kSrun};
constexpr const options::Command& (*kLooking[])() = {
    sacct_command,  sacctmgr_command, sattach_command,  sbcast_command,   scancel_command, scontrol_command,
    sdiag_command,  sgather_command,  sinfo_command,    sprio_command,    squeue_command,  sreport_command,
    sshare_command, sstat_command,    strigger_command, scrontab_command, swait_command};

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
  // Of minke's own commands; a shell completes them with minke.
  if (page == "grow") return view::write_out(options::man_page(grow_command())), 0;
  names += " grow";
  return complain(Error{0, "there is no manual page of " + page + "; there are those of" + names});
}

int completion(const std::string& shell) {
  std::vector<options::Command> commands;
  for (const auto command : kSubmitting) commands.push_back(submit::completed_command(command));
  for (const auto& command : kLooking) commands.push_back(command());
  commands.push_back({.name = "seff", .operand_values = options::kJobIds});
  view::write_out(options::completion_script(*options::shell_of(shell), commands));
  return 0;
}

}  // namespace minke::cli
