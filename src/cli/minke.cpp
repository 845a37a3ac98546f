// minke: the program with all of its subcommands (subcommands/). One thread.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.h"
#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/links.h"
#include "cli/overview.h"
#include "cli/parse_options.h"
#include "cli/subcommands/subcommands.h"
#include "os/this_program.h"
#include "text/nearest.h"
#include "text/number.h"
#include "text/printable.h"
#include "view/colour.h"
#include "view/help_topics.h"
#include "view/output.h"

namespace minke::cli {

namespace {

// Returns the message for a word that is not a command; empty if it is one.
std::string unknown_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names(std::begin(kLinkNames), std::end(kLinkNames));
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), word) != names.end()) return "";
  std::string out = "there is no command " + text::printable(word);
  if (const std::string_view meant = view::command_meant_by(word); !meant.empty())
    return out + "; did you mean " + std::string(meant) + "?";
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view nearest = text::nearest(word, candidates);
  return out + (nearest.empty() ? "; minke help tells what there is"
                                : "; did you mean " + std::string(nearest) + "?");
}

// Adds the commands that main() picks, for --help.
void add_names_of_main(CLI::App& app) {
  app.add_subcommand("chain", "a job script in parts, for work longer than a time limit");
  app.add_subcommand("sweep", "search for hyperparameters: sweep files as W&B has them");
  app.add_subcommand("farm", "many cases as one piece of work, in few jobs");
  app.add_subcommand("grow", "the same cluster on more machines, by a real Slurm");
  app.add_subcommand("storage", "what is on the disks");
  app.add_subcommand("cp", "copy files and trees, complete and on the disk when it says so");
  app.add_subcommand("sync", "make one directory what another is; alone: minke runs --upload");
  app.add_subcommand("pack", "one large file of many small ones, verified");
  app.add_subcommand("unpack", "an archive into a directory");
  app.add_subcommand("stage", "in a job: data sets on the node's own disk");
  app.add_subcommand("data", "what a directory of data is, and where it belongs");
  app.add_subcommand("restore", "which versions of a file snapshots have, and one of them back");
}

// The pages of --help under the name of the command that has them; all others have their own --help.
int help_on(const std::string& word) {
  const auto program = os::this_program();
  if (!program) return complain(program.error());
  std::fflush(nullptr);
  ::execl(program->c_str(), "minke", word.c_str(), "--help", nullptr);
  return complain(failure_from_errno(*program, errno).value());
}

int help(CLI::App& app, const std::string& typed) {
  const std::string word = text::lower_case(typed);
  if (word.empty()) return view::write_bytes(view::help_overview()), 0;
  const view::HelpTopic* topic = view::find_help_topic(word);
  const bool is_command = unknown_command(app, word).empty();
  if (topic != nullptr && (topic->name == word || !is_command))
    return view::write_bytes(view::help_page(*topic)), 0;
  if (const std::string problem = unknown_command(app, word); !problem.empty()) {
    std::string topics;
    for (const view::HelpTopic& topic : view::help_topics()) topics.append(" ").append(topic.name);
    return complain(Error{0, "there is no topic " +
                                 problem.substr(std::string_view("there is no command ").size()) +
                                 "; the topics are" + topics});
  }
  return help_on(word);
}

void add_help(CLI::App& app, int& exit_code) {
  const auto topic = std::make_shared<std::string>();
  auto* command = app.add_subcommand("help", "what the program does, by topic; the options of a command");
  command->add_option("topic", *topic,
                      "submit, look, why, stop, arrays, gpus, data, python, setup; or a command");
  command->callback([&app, topic, &exit_code] { exit_code = help(app, *topic); });
}

void add_version(CLI::App& app) {
  app.add_subcommand("version", "this program's version, and the release of Slurm that it speaks")
      ->callback([] {
        std::printf("minke %s, speaks Slurm %s\n", kVersion,
                    std::string(slurm_version(spoken_release())).c_str());
      });
}

}  // namespace

void add_minke_commands(CLI::App& app, int& exit_code) {
  add_help(app, exit_code);
  add_version(app);
  add_own_jobs_commands(app, exit_code);
  add_cluster_commands(app, exit_code);
  add_setting_up_commands(app, exit_code);
  add_shell_commands(app, exit_code);
  add_planning_commands(app, exit_code);
  add_software_commands(app, exit_code);
  add_tracking_commands(app, exit_code);
  add_names_of_main(app);
  add_daemon_commands(app, exit_code);
  add_watching_commands(app, exit_code);
  add_carrying_commands(app, exit_code);
}

int minke_main(int argc, char** argv) {
  CLI::App app{
      "Minke: a research cluster in one program. sbatch, srun, squeue and the others work as in Slurm.",
      "minke"};
  app.set_version_flag("--version", std::string("minke ") + kVersion);
  app.require_subcommand(1);
  app.footer(
      "--color=auto, always or never may stand anywhere.\n"
      "Slurm's commands: sbatch srun salloc squeue sq sinfo scancel sacct scontrol seff\n"
      "  as 'minke sbatch …', or directly after: eval \"$(minke env)\"");
  int exit_code = 0;
  if (argc <= 1) return overview();
  constexpr std::string_view kColour = "--color=";
  if (argc == 2 && std::string_view(argv[1]).starts_with(kColour)) {
    if (const auto wish = view::colour_wish(argv[1] + kColour.size()))
      return view::set_colour(*wish), overview();
  }
  add_minke_commands(app, exit_code);
  if (argv[1][0] != '-') {
    if (const std::string problem = unknown_command(app, argv[1]); !problem.empty()) {
      complain(Error{0, problem});
      return 2;
    }
  }
  if (const auto over = parse_options(app, argc, argv)) return *over;
  return exit_code;
}

}  // namespace minke::cli
