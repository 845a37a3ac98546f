// minke: the program with all of its subcommands (subcommands/). One thread.
#include <algorithm>
#include <string>
#include <vector>

#include "base/version.h"
#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/links.h"
#include "cli/parse_options.h"
#include "cli/subcommands/subcommands.h"

namespace minke::cli {

namespace {

// Returns how many letters to add, remove or change to turn one word into the other (Levenshtein).
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

// Returns the message for a word that is not a command; empty if it is one.
std::string unknown_command(const CLI::App& app, const std::string& word) {
  bool known = false;
  std::string closest;
  size_t least = 3;  // with more than two wrong letters it is another word
  const auto consider = [&](const std::string& name) {
    known |= name == word;
    if (const size_t distance = edit_distance(word, name); distance < least) {
      least = distance;
      closest = name;
    }
  };
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    consider(command->get_name());
  for (const char* name : kLinkNames) consider(name);
  if (known) return "";
  return "there is no command " + word +
         (closest.empty() ? "; see minke --help" : "; did you mean " + closest + "?");
}

// Adds the commands that main() picks, for --help.
void add_names_of_main(CLI::App& app) {
  app.add_subcommand("chain", "a job script in parts, for work longer than a time limit");
  app.add_subcommand("grow", "the same cluster on more machines, by a real Slurm");
  app.add_subcommand("storage", "what is on the disks");
  app.add_subcommand("cp", "copy files and trees, complete and on the disk when it says so");
  app.add_subcommand("sync", "make one directory what another is; alone: minke runs --upload");
  app.add_subcommand("pack", "one large file of many small ones, verified");
  app.add_subcommand("unpack", "an archive into a directory");
  app.add_subcommand("stage", "in a job: data sets on the node's own disk");
  app.add_subcommand("data", "what a directory of data is, and where it belongs");
}

}  // namespace

int minke_main(int argc, char** argv) {
  CLI::App app{
      "Minke: a research cluster in one program. sbatch, srun, squeue and the others work as in Slurm."};
  app.set_version_flag("--version", std::string("minke ") + kVersion);
  app.require_subcommand(1);
  app.footer(
      "Slurm's commands: sbatch srun salloc squeue sq sinfo scancel sacct scontrol seff\n"
      "  as 'minke sbatch …', or directly after: eval \"$(minke env)\"");
  int exit_code = 0;
  add_cluster_commands(app, exit_code);
  add_shell_commands(app, exit_code);
  add_planning_commands(app, exit_code);
  add_software_commands(app, exit_code);
  add_tracking_commands(app, exit_code);
  add_names_of_main(app);
  add_daemon_commands(app, exit_code);
  add_watching_commands(app, exit_code);
  add_carrying_commands(app, exit_code);
  if (argc > 1 && argv[1][0] != '-') {
    if (const std::string problem = unknown_command(app, argv[1]); !problem.empty()) {
      complain(Error{0, problem});
      return 2;
    }
  }
  if (const auto over = parse_options(app, argc, argv)) return *over;
  return exit_code;
}

}  // namespace minke::cli
