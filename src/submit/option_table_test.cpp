#include "submit/option_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "submit/help.h"
#include "text/number.h"

namespace minke::submit {
namespace {

constexpr Command kCommands[] = {Command::kSbatch, Command::kSalloc, Command::kSrun};

TEST(OptionTable, RowsAreConsistent) {
  for (Command command : kCommands) {
    std::set<std::string_view> names;
    std::set<char> letters;
    std::set<std::string> variables;
    for (const Option& option : all_options()) {
      if (!option.belongs_to(command)) continue;
      EXPECT_TRUE(names.insert(option.name).second) << option.name;
      if (option.letter != '\0') {
        EXPECT_TRUE(letters.insert(option.letter).second) << option.letter;
      }
      for (const std::string& variable : input_variables(option, command)) {
        EXPECT_TRUE(variables.insert(variable).second) << variable;
      }
    }
  }
  for (const Option& option : all_options()) {
    EXPECT_NE(option.commands, 0u) << option.name;
    EXPECT_FALSE(option.help.empty()) << option.name;
    // An option has a reason if and only if there is something to explain.
    EXPECT_EQ(option.reason.empty(), option.disposition == Disposition::kHonoured) << option.name;
    if (option.disposition == Disposition::kRefused) {
      EXPECT_EQ(option.set, nullptr) << option.name;
    }
  }
}

// The short options of Slurm 22.05's commands.
TEST(OptionTable, HasEveryLetterOfSlurm) {
  const std::pair<Command, std::string_view> known[] = {
      {Command::kSbatch, "abcdehikmnopqstvwxABCDFGHJLMNOQSVW"},
      {Command::kSalloc, "bcdhkmnpqstvwxABCDFGHIJKLMNOQSV"},
      {Command::kSrun, "bcdehiklmnopqrstuvwxABCDEFGHIJKLMNOQSTVWXZ"}};
  for (const auto& [command, letters] : known) {
    std::set<char> have;
    for (const Option& option : all_options()) {
      if (option.belongs_to(command) && option.letter != '\0') have.insert(option.letter);
    }
    EXPECT_EQ(have, std::set<char>(letters.begin(), letters.end())) << command_name(command);
  }
}

// The long options of Slurm 22.05's commands, as their getopt_long lists them, and those of 23.02 to 25.05.
TEST(OptionTable, HasEveryNameOfSlurm) {
  constexpr std::string_view kAll =
      "account acctg-freq bb bbf begin chdir cluster cluster-constraint clusters comment "
      "consolidate-segments constraint container container-id context contiguous core-spec "
      "cores-per-socket cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency "
      "distribution exclude exclusive extra extra-node-info gid gpu-bind gpu-freq gpus "
      "gpus-per-node gpus-per-socket gpus-per-task gres gres-flags help hint hold job-name "
      "licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus network "
      "nice no-kill nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node "
      "ntasks-per-socket ntasks-per-tres oom-kill-step overcommit oversubscribe partition power "
      "prefer priority profile qos quiet reboot reservation resv-ports segment signal "
      "sockets-per-node spread-job spread-segments stepmgr switches tasks-per-node thread-spec "
      "threads-per-core time time-min tmp tres-bind tres-per-task uid usage use-min-nodes verbose "
      "version wckey";
  constexpr std::pair<Command, std::string_view> kOwn[] = {
      {Command::kSbatch,
       "array batch error export export-file get-user-env ignore-pbs input kill-on-invalid-dep "
       "no-requeue open-mode output parsable propagate requeue test-only wait wait-all-nodes wrap"},
      {Command::kSalloc,
       "bell get-user-env immediate kill-command kill-on-invalid-dep no-bell no-shell "
       "wait-all-nodes x11"},
      {Command::kSrun,
       "accel-bind bcast bcast-exclude compress cpu-bind cpu_bind debugger-test disable-status "
       "epilog error exact export external-launcher het-group immediate input interactive jobid "
       "kill-on-bad-exit label mpi msg-timeout multi-prog no-allocate open-mode output overlap "
       "pack-group preserve-env prolog propagate pty quit-on-interrupt relative send-libs "
       "slurmd-debug task-epilog task-prolog test-only threads treewidth unbuffered wait "
       "wait-for-children whole x11"}};
  for (const auto& [command, own] : kOwn) {
    std::set<std::string_view> have;
    for (const Option& option : all_options())
      if (option.belongs_to(command)) have.insert(option.name);
    for (std::string_view list : {kAll, own}) {
      for (std::string_view name : text::split(list, ' '))
        EXPECT_TRUE(have.count(name)) << command_name(command) << " --" << name;
    }
  }
}

TEST(OptionTable, InputVariables) {
  auto variables = [](std::string_view name, Command command) {
    std::vector<std::string> out;
    for (const Option& option : all_options()) {
      if (option.name == name && option.belongs_to(command)) out = input_variables(option, command);
    }
    return out;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(variables("time", Command::kSbatch), ElementsAre("SBATCH_TIMELIMIT"));
  EXPECT_THAT(variables("time", Command::kSalloc), ElementsAre("SALLOC_TIMELIMIT"));
  EXPECT_THAT(variables("time", Command::kSrun), ElementsAre("SLURM_TIMELIMIT"));
  EXPECT_THAT(variables("ntasks", Command::kSrun), ElementsAre("SLURM_NPROCS", "SLURM_NTASKS"));
  EXPECT_THAT(variables("ntasks", Command::kSbatch), ElementsAre());
  EXPECT_THAT(variables("array", Command::kSbatch), ElementsAre("SBATCH_ARRAY_INX"));
}

TEST(Help, NamesEveryOption) {
  for (Command command : kCommands) {
    std::string help = help_text(command), page = man_page(command), usage = usage_text(command);
    for (const Option& option : all_options()) {
      if (!option.belongs_to(command)) continue;
      EXPECT_NE(help.find("--" + std::string(option.name)), std::string::npos) << option.name;
      if (option.disposition == Disposition::kHonoured) {
        EXPECT_NE(usage.find("--" + std::string(option.name)), std::string::npos) << option.name;
      }
    }
    EXPECT_TRUE(help.starts_with("Usage: " + std::string(command_name(command)) + " [OPTIONS...] "));
    EXPECT_NE(page.find("\\fB\\-t\\fR, \\fB\\-\\-time=limit\\fR\n"), std::string::npos);
    EXPECT_EQ(page.find("\n."), page.find("\n.SH NAME"));
    size_t start = 0;
    while (start < usage.size()) {
      size_t end = usage.find('\n', start);
      EXPECT_LE(end - start, 80u);
      start = end + 1;
    }
  }
}

}  // namespace
}  // namespace minke::submit
