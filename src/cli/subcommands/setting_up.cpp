// minke setup, self: a machine for several people, and this program itself.
#include <memory>
#include <string>

#include "cli/self.h"
#include "cli/setup.h"
#include "cli/subcommands/subcommands.h"

namespace minke::cli {

namespace {

void add_setup(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<SetupOptions>();
  config::SetupAnswers& answers = options->answers;
  auto* command =
      app.add_subcommand("setup", "a machine for several people, by five questions or these options");
  auto* name = command->add_option("--name", answers.cluster, "of the cluster");
  auto* users = command->add_option("--users", options->users, "who uses it: logins, with commas, or none");
  command->add_option("--account", answers.account, "the account that they share")->capture_default_str();
  auto* longest = command->add_option("--max-time", answers.max_time, "of a job")->capture_default_str();
  auto* usual = command->add_option("--default-time", answers.default_time, "of a job that names none")
                    ->capture_default_str();
  auto* memory = command->add_option("--memory", options->memory_per_cpu,
                                     "for each processor of a job that names none: 2G");
  auto* mail =
      command->add_option("--mail", answers.mail_server, "the mail server: smtp://HOST:PORT, or none");
  command->add_option("--mail-domain", answers.mail_domain, "of users' addresses: example.org");
  command->add_option("--max-jobs", answers.max_jobs, "that a person runs at a time");
  command->add_option("--max-gpus", answers.max_gpus, "that a person has at a time");
  command->add_flag("--show", options->only_show, "only show what would be done");
  command->add_flag("--yes", options->yes, "ask nothing, and do it");
  command->add_flag("--replace", options->replace,
                    "write a new configuration; the old one stays as FILE.before");
  command->callback([=, &exit_code] {
    options->given_cluster = name->count() > 0;
    options->given_users = users->count() > 0;
    options->given_times = longest->count() > 0 || usual->count() > 0;
    options->given_memory = memory->count() > 0;
    options->given_mail = mail->count() > 0;
    exit_code = setup(*options);
  });
}

void add_self(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("self", "this program: install, update, uninstall");
  command->require_subcommand(1);
  const auto directory = std::make_shared<std::string>();
  auto* install = command->add_subcommand("install", "copy it to a directory of PATH");
  install->add_option("directory,--to", *directory, "default: ~/.local/bin, or /usr/local/bin for root");
  install->callback([directory, &exit_code] { exit_code = self_install(*directory); });
  const auto file = std::make_shared<std::string>();
  auto* update = command->add_subcommand("update", "put another version in its place");
  update->add_option("file", *file, "an archive of ./dev package, or the program")->required();
  update->callback([file, &exit_code] { exit_code = self_update(*file); });
  command->add_subcommand("uninstall", "remove it, and what it has put into shells")->callback([&exit_code] {
    exit_code = self_uninstall();
  });
}

}  // namespace

void add_setting_up_commands(CLI::App& app, int& exit_code) {
  add_setup(app, exit_code);
  add_self(app, exit_code);
}

}  // namespace minke::cli
