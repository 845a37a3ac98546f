// minke carry.
#include <memory>

#include "cli/carry.h"
#include "cli/subcommands/subcommands.h"

namespace minke::cli {

namespace {

void add_places(CLI::App& command, const std::shared_ptr<CarryOptions>& options) {
  command.add_option("DIRECTORY", options->directory, "the snapshot")->required();
  command.add_option("--programs", options->programs, "where Slurm's commands are");
  command.add_option("--daemons", options->daemons, "where slurmrestd is");
  command.add_option("--slurmdbd-conf", options->database_configuration, "its configuration");
  command.add_option("--start-slurmctld", options->start_controller,
                     "the command that does it; else systemctl start slurmctld");
}

}  // namespace

void add_carrying_commands(CLI::App& app, int& exit_code) {
  auto* carry =
      app.add_subcommand("carry", "take this cluster's accounts, record and waiting jobs to a Slurm");
  carry->require_subcommand(1);
  const auto options = std::make_shared<CarryOptions>();
  auto* take = carry->add_subcommand("take", "write a snapshot, once nothing is submitted any more");
  take->add_option("DIRECTORY", options->directory, "the snapshot; root's alone")->required();
  take->callback([options, &exit_code] { exit_code = carry_take(*options); });
  auto* bring = carry->add_subcommand("bring", "bring it into the Slurm of this machine; may be repeated");
  add_places(*bring, options);
  bring->add_option("PART", options->parts, "accounts, usage, record, waiting; else all of them")
      ->check(CLI::IsMember({"accounts", "usage", "record", "waiting"}));
  bring->callback([options, &exit_code] { exit_code = carry_bring(*options); });
  auto* check =
      carry->add_subcommand("check", "what differs between the snapshot and the Slurm of this machine");
  add_places(*check, options);
  check->callback([options, &exit_code] { exit_code = carry_check(*options); });
  auto* back = carry->add_subcommand("back", "take waiting jobs out of the Slurm of this machine again");
  add_places(*back, options);
  back->callback([options, &exit_code] { exit_code = carry_back(*options); });
}

}  // namespace minke::cli
