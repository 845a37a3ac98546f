#include <getopt.h>
#include <gtest/gtest.h>

#include <random>

#include "submit/option_reader.h"

namespace minke::submit {
namespace {

// Reads the same arguments with the C library: "name=value name ... | positional", or "!".
std::string by_getopt(Command command, const std::vector<std::string>& arguments) {
  std::vector<option> long_options;
  std::string letters = "+";
  std::vector<std::string> names;  // keeps the C strings alive
  std::vector<const Option*> rows;
  for (const Option& row : all_options()) {
    if (row.belongs_to(command)) rows.push_back(&row);
  }
  names.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    int kind = rows[i]->argument == ArgumentKind::kNone       ? no_argument
               : rows[i]->argument == ArgumentKind::kRequired ? required_argument
                                                              : optional_argument;
    names.emplace_back(rows[i]->name);
    long_options.push_back({names.back().c_str(), kind, nullptr, 1000 + static_cast<int>(i)});
    if (rows[i]->letter == '\0') continue;
    letters += rows[i]->letter;
    letters.append(static_cast<size_t>(kind), ':');
  }
  long_options.push_back({nullptr, 0, nullptr, 0});
  std::vector<std::string> storage = arguments;
  std::vector<char*> argv = {const_cast<char*>("x")};
  for (std::string& argument : storage) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(argv.size()) - 1;
  std::string out;
  optind = 0;
  opterr = 0;
  while (true) {
    int got = getopt_long(argc, argv.data(), letters.c_str(), long_options.data(), nullptr);
    if (got == -1) break;
    if (got == '?') return "!";
    std::string_view name;
    if (got >= 1000) {
      name = rows[static_cast<size_t>(got - 1000)]->name;
    } else {
      for (const Option* row : rows) {
        if (row->letter == got) name = row->name;
      }
    }
    out.append(name);
    if (optarg != nullptr) out.append("=").append(optarg);
    out += ' ';
  }
  out += '|';
  for (int i = optind; i < argc; ++i) out.append(" ").append(argv[static_cast<size_t>(i)]);
  return out;
}

std::string by_us(Command command, const std::vector<std::string>& arguments) {
  ReadOptions read = read_options(command, arguments, Source::kCommandLine);
  if (!read.problem.empty()) return "!";
  std::string out;
  for (const Setting& setting : read.settings) {
    out.append(setting.option->name);
    if (setting.value) out.append("=").append(*setting.value);
    out += ' ';
  }
  out += '|';
  for (const std::string& argument : read.positional) out.append(" ").append(argument);
  return out;
}

TEST(CommandLine, LaterOptionsLeaveOldAbbreviationsAlone) {
  EXPECT_EQ(by_us(Command::kSbatch, {"--res=x", "--cons=fast", "--ext=2", "--conta=a", "--spread"}),
            "reservation=x constraint=fast extra-node-info=2 container=a spread-job |");
  EXPECT_EQ(by_us(Command::kSrun, {"--wai=5", "--se"}), "wait=5 send-libs |");
  EXPECT_EQ(by_us(Command::kSrun, {"--res=x"}), "!");  // ambiguous in Slurm from the beginning
  EXPECT_EQ(by_us(Command::kSbatch, {"--extra=x", "--seg=4"}), "extra=x segment=4 |");
}

TEST(CommandLine, ReadsAsGetoptLongDoes) {
  const std::vector<std::string> pieces = {
      "-n",    "2",           "-n2",      "--ntasks=2", "--ntasks",   "--nta",
      "--mem", "--mem=",      "--me=4G",  "--n",        "-H",         "-Hn3",
      "-HQ",   "--nice",      "--nice=5", "--nic",      "-",          "--",
      "---",   "x",           "-Z",       "--zz",       "--hold=1",   "-k",
      "-koff", "-I5",         "-I",       "-K",         "--wait",     "-W",
      "-Wx",   "--time=1:00", "-t",       "1-0",        "--=x",       "--exclusive=user",
      "--exc", "-vvv",        "-J",       "a b",        "",           "-o-",
      "-c=3",  "--cpu-bind",  "--cpu",    "--gpus",     "--gpus-per", "-l",
      "--no",  "-D",          "/x",       "--h",        "-h",         "-V"};
  std::mt19937 random(7);
  for (int round = 0; round < 4000; ++round) {
    std::vector<std::string> arguments(random() % 5);
    for (std::string& argument : arguments) argument = pieces[random() % pieces.size()];
    for (Command command : {Command::kSbatch, Command::kSalloc, Command::kSrun}) {
      std::string all;
      for (const std::string& argument : arguments) all += "[" + argument + "] ";
      ASSERT_EQ(by_us(command, arguments), by_getopt(command, arguments))
          << command_name(command) << " " << all;
    }
  }
}

// The messages of sbatch 22.05.
TEST(CommandLine, MessagesAreGlibcs) {
  auto problem = [](std::vector<std::string> arguments) {
    Invocation invocation;
    invocation.arguments = std::move(arguments);
    auto read = read_command_line(invocation);
    if (read) return std::string();
    EXPECT_EQ(read.error().exit_status, 255);
    return read.error().text;
  };
  const std::string hint = "\nTry \"sbatch --help\" for more information\n";
  EXPECT_EQ(problem({"--foo"}), "sbatch: unrecognized option '--foo'" + hint);
  EXPECT_EQ(problem({"--umask=7"}), "sbatch: unrecognized option '--umask=7'" + hint);
  EXPECT_EQ(problem({"-Z"}), "sbatch: invalid option -- 'Z'" + hint);
  EXPECT_EQ(problem({"-n"}), "sbatch: option requires an argument -- 'n'" + hint);
  EXPECT_EQ(problem({"--time"}), "sbatch: option '--time' requires an argument" + hint);
  EXPECT_EQ(problem({"--hold=x"}), "sbatch: option '--hold' doesn't allow an argument" + hint);
  EXPECT_EQ(problem({"--parsable=foo"}), "sbatch: option '--parsable' doesn't allow an argument" + hint);
  EXPECT_EQ(problem({"--no"}),
            "sbatch: option '--no' is ambiguous; possibilities: '--no-kill' '--no-requeue' '--nodefile' "
            "'--nodelist' "
            "'--nodes'" +
                hint);
}

TEST(CommandLine, ScriptArgumentsAreTheScripts) {
  Invocation invocation;
  invocation.arguments = {"-n", "2", "job.sh", "--foo", "-n", "3"};
  auto read = read_command_line(invocation);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->components[0].size(), 1u);
  EXPECT_EQ(read->positional, (std::vector<std::string>{"job.sh", "--foo", "-n", "3"}));
}

TEST(CommandLine, WrapTakesNoArguments) {
  Invocation invocation;
  invocation.arguments = {"--wrap", "true"};
  EXPECT_EQ(read_command_line(invocation)->wrap, "true");
  invocation.arguments.push_back("more");
  EXPECT_EQ(read_command_line(invocation).error().text,
            "sbatch: error: Script arguments not permitted with --wrap option\n");
}

TEST(CommandLine, ShowOnlyWins) {
  Invocation invocation;
  invocation.arguments = {"--help", "--foo"};
  EXPECT_EQ(read_command_line(invocation)->show, ShowOnly::kHelp);
  EXPECT_EQ(read_command_line(invocation)->components.size(), 1u);
  invocation.arguments = {"-V"};
  EXPECT_EQ(read_command_line(invocation)->show, ShowOnly::kVersion);
}

TEST(CommandLine, ComponentsOfHeterogeneousJobs) {
  Invocation invocation;
  invocation.arguments = {"-n1", ":", "-n2", "--mem=5", ":", "job.sh", ":", "x"};
  auto read = read_command_line(invocation);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->components.size(), 3u);
  EXPECT_EQ(read->components[1].size(), 2u);
  EXPECT_EQ(read->positional, (std::vector<std::string>{"job.sh", ":", "x"}));  // the script's own

  invocation.command = Command::kSrun;
  invocation.arguments = {"-n1", "server", "-p", ":", "-n2", "client"};
  read = read_command_line(invocation);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->components.size(), 2u);
  EXPECT_EQ(read->programs, (std::vector<std::vector<std::string>>{{"server", "-p"}}));
  EXPECT_EQ(read->positional, (std::vector<std::string>{"client"}));
}

}  // namespace
}  // namespace minke::submit
