// minke env, man, completion: the setup of shells.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/complain.h"
#include "cli/described_commands.h"
#include "cli/links.h"
#include "cli/shell_install.h"
#include "cli/software.h"
#include "cli/subcommands/subcommands.h"
#include "engine/slurm/find.h"
#include "helpers/my_tiers.h"
#include "os/minke_home.h"
#include "text/shell_quote.h"

namespace minke::cli {

namespace {

// Only root may make them for all users of a shared cluster.
bool may_make_links(const std::string& home) {
  return !os::is_shared(home) || ::geteuid() == 0;
}

// minke env --install and --uninstall.
int change_shells(const std::string& home, bool install, ShellManner manner) {
  if (install && manner != ShellManner::kBeside && may_make_links(home)) {
    if (auto linked = make_links(home); !linked) return complain(linked.error());
  }
  const auto done = install ? install_in_shells(home, manner) : uninstall_from_shells(home);
  if (!done) return complain(done.error());
  std::fputs(done->empty() ? (install ? "there already\n" : "nothing was installed\n") : done->c_str(),
             stdout);
  return 0;
}

std::string path_settings(const std::string& home, bool csh) {
  const std::string bin = text::shell_quoted(os::bin_path(home)), of = text::shell_quoted(home);
  if (csh)
    return "setenv MINKE_HOME " + of + "\n" + "if ( \":${PATH}:\" !~ *:" + bin + ":* ) setenv PATH " + bin +
           ":\"${PATH}\"\n";
  return "export MINKE_HOME=" + of + "\n" + "case \":$PATH:\" in *:" + bin + ":*) ;; *) export PATH=" + bin +
         ":\"$PATH\" ;; esac\n";
}

// Behind all that is there, so that only what the cluster lacks is found in it.
int env_beside_slurm(const std::string& home, bool csh) {
  const auto directory = make_links_beside_slurm(home);
  if (!directory) return complain(directory.error());
  const std::string bin = text::shell_quoted(*directory);
  const std::string settings =
      csh ? "if ( \":${PATH}:\" !~ *:" + bin + ":* ) setenv PATH \"${PATH}\":" + bin + " ;\n"
          : "case \":$PATH:\" in *:" + bin + ":*) ;; *) export PATH=\"$PATH\":" + bin + " ;; esac\n";
  std::fputs(settings.c_str(), stdout);
  return 0;
}

int env(bool force, bool csh, bool install, bool uninstall) {
  const auto slurm = engine::slurm::find_slurm();
  if (!slurm) return complain(slurm.error());
  auto home = os::minke_home();
  if (!home) return complain(home.error());
  const bool beside = slurm->has_value() && !force;
  if (install || uninstall)
    return change_shells(*home, install,
                         beside  ? ShellManner::kBeside
                         : force ? ShellManner::kOverSlurm
                                 : ShellManner::kUsual);
  if (beside) return env_beside_slurm(*home, csh);
  if (may_make_links(*home)) {
    if (auto linked = make_links(*home); !linked) return complain(linked.error());
  }
  if (const std::string real = real_slurm_command(*home); !real.empty() && !force) {
    std::fprintf(
        stderr,
        "minke: a real Slurm is on PATH (%s); its commands are left alone, and those that it lacks come "
        "behind them. Minke's own cluster is meant: use 'minke sbatch …', or 'minke env --over-slurm'\n",
        real.c_str());
    return env_beside_slurm(*home, csh);
  }
  const std::string text =
      path_settings(*home, csh) + helpers::tier_exports(csh) + module_functions(*home, csh);
  for (const char c : text) {
    if (c == '\n' && csh) std::fputs(" ;", stdout);  // csh's eval joins all lines
    std::fputc(c, stdout);
  }
  return 0;
}

void add_env(CLI::App& app, int& exit_code) {
  struct Options {
    bool over_slurm = false, csh = false, install = false, uninstall = false;
  };
  const auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("env", "shell commands that put Slurm's commands on PATH, for eval");
  command->add_flag("--over-slurm", options->over_slurm, "in front of a real Slurm's commands, too");
  command->add_flag("--csh", options->csh, "for csh and tcsh: eval \"`minke env --csh`\"");
  auto* install =
      command->add_flag("--install", options->install,
                        "for good: in the files that your shells read; by root of a shared cluster, for all");
  command->add_flag("--uninstall", options->uninstall, "take that back")->excludes(install);
  command->callback([options, &exit_code] {
    exit_code = env(options->over_slurm, options->csh, options->install, options->uninstall);
  });
}

void add_man(CLI::App& app, int& exit_code) {
  const auto page = std::make_shared<std::string>();
  auto* command = app.add_subcommand("man", "the manual page of a command, for man -l -");
  command->add_option("command", *page, "sbatch, squeue, tail, minke.toml …")->required();
  command->callback([page, &exit_code] { exit_code = man(*page); });
}

void add_completion(CLI::App& app, int& exit_code) {
  const auto shell = std::make_shared<std::string>();
  auto* command =
      app.add_subcommand("completion", "completes options and values in a shell; to be sourced by it");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell, &exit_code] { exit_code = completion(*shell); });
}

}  // namespace

void add_shell_commands(CLI::App& app, int& exit_code) {
  add_env(app, exit_code);
  add_man(app, exit_code);
  add_completion(app, exit_code);
}

}  // namespace minke::cli
