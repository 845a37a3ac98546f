// minke top, adopt, guard.
#include <memory>

#include "cli/guard.h"
#include "cli/subcommands/subcommands.h"
#include "cli/top.h"
#include "helpers/adopt.h"

namespace minke::cli {

namespace {

void add_top(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<TopOptions>();
  auto* command = app.add_subcommand("top", "what running jobs use now");
  command->add_flag("--once", options->once, "print it once");
  command->add_flag("--json", options->json, "once, as JSON");
  command->add_flag("--series", options->series, "with --json: all samples");
  command->add_option("-j,--jobs", options->jobs, "these jobs; of those that ended what was kept");
  command->add_option("-d,--delay", options->seconds, "seconds between two looks")
      ->check(CLI::Range(0.5, 3600.0));
  command->callback([options, &exit_code] { exit_code = top(*options); });
}

void add_adopt(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<helpers::AdoptOptions>();
  auto* command = app.add_subcommand("adopt", "put a login into a running job of its user, for pam_exec");
  command->add_option("--user", options->user, "whose login it is; else PAM_USER");
  command->add_option("--pid", options->pid, "the process; else the caller")->check(CLI::Range(1, 1 << 30));
  command->add_option("--allow", options->allow, "a group that may log in without a job");
  command->callback([options, &exit_code] { exit_code = helpers::adopt(*options); });
}

void add_guard(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<GuardOptions>();
  auto* command =
      app.add_subcommand("guard", "keep processes outside of jobs from the GPUs, in a shared cluster");
  command->add_option("action", options->action, "on, off, or status")
      ->check(CLI::IsMember({"on", "off", "status"}));
  command->add_option("--group", options->groups,
                      "which processes: a control group; else user.slice, all logins");
  command->callback([options, &exit_code] { exit_code = guard(*options); });
}

}  // namespace

void add_watching_commands(CLI::App& app, int& exit_code) {
  add_top(app, exit_code);
  add_adopt(app, exit_code);
  add_guard(app, exit_code);
}

}  // namespace minke::cli
