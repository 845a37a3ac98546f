// minke software, wheels.
#include "cli/software.h"

#include <memory>
#include <string>
#include <vector>

#include "cli/software_requests.h"
#include "cli/subcommands/subcommands.h"
#include "cli/wheels.h"

namespace minke::cli {

namespace {

void add_scan(CLI::App& software, int& exit_code) {
  const auto options = std::make_shared<ScanCommand>();
  auto* command = software.add_subcommand("scan", "make the module files anew from what is found");
  command->add_option("--path", options->paths, "look here, too: a prefix, or a directory of programs")
      ->delimiter(':')
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options, &exit_code] { exit_code = software_scan(*options); });
}

void add_alias(CLI::App& software, int& exit_code) {
  const auto options = std::make_shared<AliasCommand>();
  auto* command = software.add_subcommand("alias", "what to load for another cluster's module");
  command->add_option("name", options->name,
                      "as scripts have it: cuda/11.4, or cuda; none: show the aliases");
  command->add_option("module", options->targets, "to load for it; none: there is nothing to load");
  command->add_flag("--remove", options->remove, "forget it");
  command->callback([options, &exit_code] { exit_code = software_alias(*options); });
}

void add_request(CLI::App& software, int& exit_code) {
  const auto options = std::make_shared<SoftwareRequestCommand>();
  auto* command = software.add_subcommand("request", "ask the administrators for a package that is not here");
  command->add_option("package", options->package,
                      "its name, with a version where that matters; none: show the requests");
  command->add_option("--reason", options->reason, "what it is needed for");
  command->callback([options, &exit_code] { exit_code = software_request(*options); });
}

void add_requests(CLI::App& software, int& exit_code) {
  const auto options = std::make_shared<SoftwareRequestsCommand>();
  auto* command = software.add_subcommand("requests", "what was asked for, and the administrators' answers");
  auto* done = command->add_option("--done", options->done, "this request is fulfilled")->type_name("NUMBER");
  auto* refused =
      command->add_option("--refused", options->refused, "this request is not")->type_name("NUMBER");
  auto* again =
      command->add_option("--open", options->again, "this request waits again")->type_name("NUMBER");
  done->excludes(refused)->excludes(again);
  refused->excludes(again);
  command->add_option("--answer", options->answer, "what the asker reads: which module to load, or why not");
  command->add_flag("--all", options->all, "answered ones as well");
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options, &exit_code] { exit_code = software_requests(*options); });
}

void add_fetch(CLI::App& wheels, int& exit_code) {
  const auto options = std::make_shared<WheelsCommand>();
  auto* command =
      wheels.add_subcommand("add", "fetch wheels with all that they need; this needs the internet");
  command->add_option("name", options->names, "as pip takes them: torch, 'numpy<2', a wheel's file");
  command->add_option("-r,--requirement", options->requirements, "requirements files")
      ->allow_extra_args(false);
  command->add_option("-p,--python", options->pythons, "for these Pythons: 3.11; otherwise the three newest")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->callback([options, &exit_code] { exit_code = wheels_add(*options); });
}

void add_remove(CLI::App& wheels, int& exit_code) {
  const auto files = std::make_shared<std::vector<std::string>>();
  auto* command = wheels.add_subcommand("remove", "forget wheels");
  command->add_option("file", *files, "their file names, as avail_wheels --raw has them")->required();
  command->callback([files, &exit_code] { exit_code = wheels_remove(*files); });
}

}  // namespace

void add_software_commands(CLI::App& app, int& exit_code) {
  auto* software =
      app.add_subcommand("software", "modules: what this machine has, under the names of clusters");
  software->require_subcommand(1);
  add_scan(*software, exit_code);
  add_alias(*software, exit_code);
  add_request(*software, exit_code);
  add_requests(*software, exit_code);
  auto* wheels = app.add_subcommand("wheels", "Python's wheels, for pip install --no-index");
  wheels->require_subcommand(1);
  add_fetch(*wheels, exit_code);
  add_remove(*wheels, exit_code);
}

}  // namespace minke::cli
