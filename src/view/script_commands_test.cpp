#include "view/script_commands.h"

#include <gtest/gtest.h>

namespace minke::view {
namespace {

using Words = std::vector<std::string>;

std::vector<std::pair<size_t, Words>> commands(std::string_view script) {
  std::vector<std::pair<size_t, Words>> all;
  for (ScriptCommand& one : script_commands(script)) all.emplace_back(one.line, std::move(one.words));
  return all;
}

TEST(ScriptCommands, HaveTheirLinesAndWords) {
  EXPECT_EQ(commands("#!/bin/bash\n#SBATCH --time=1\n\na 'b c' \"d\\\"e\" # f\n\\\n  g; h && i | j"),
            (std::vector<std::pair<size_t, Words>>{
                {4, {"a", "b c", "d\"e"}}, {6, {"g"}}, {6, {"h"}}, {6, {"i"}}, {6, {"j"}}}));
  EXPECT_EQ(commands("long \\\n  line\nnext"),
            (std::vector<std::pair<size_t, Words>>{{1, {"long", "line"}}, {3, {"next"}}}));
  EXPECT_EQ(commands("x 2 >log 2>&1 & y &>log <in z"),
            (std::vector<std::pair<size_t, Words>>{{1, {"x", "2"}}, {1, {"y", "z"}}}));
}

TEST(ScriptCommands, LeaveOutKeywordsAssignmentsAndDocuments) {
  EXPECT_EQ(commands("if true; then A=1 B= run; fi\ncat <<-'EOF' >x\nsleep 1\n\tEOF\nafter\nx <<<y z"),
            (std::vector<std::pair<size_t, Words>>{
                {1, {"true"}}, {1, {"run"}}, {1, {"fi"}}, {2, {"cat"}}, {5, {"after"}}, {6, {"x", "z"}}}));
}

TEST(ScriptCommands, AreBoundedForAnyText) {
  EXPECT_EQ(commands("").size(), 0u);
  EXPECT_EQ(commands("'never ends").size(), 1u);
  EXPECT_EQ(commands("x <<EOF").size(), 1u);
  EXPECT_EQ(commands("x <<EOF\nno end\n").size(), 1u);
  EXPECT_EQ(commands("#").size(), 0u);
  EXPECT_EQ(commands("a\\").size(), 1u);
  std::string many;
  for (int i = 0; i < 30000; ++i) many += "x;";
  EXPECT_EQ(commands(many).size(), 20000u);
  EXPECT_EQ(commands(std::string(2 << 20, 'x')).size(), 0u);
}

TEST(ModulesLoaded, AreNamedWithTheirVersions) {
  const auto modules = modules_loaded(script_commands(
      "module -q load StdEnv/2023 gcc >/dev/null 2>&1\nml python/3.11\nml -gcc\nml purge\nmodule purge && "
      "module add cuda\n"
      "module load gcc\n# module load no\nmodule unload gcc\nif x; then module load a/b/c; fi\n"));
  std::vector<std::string> names;
  for (const LoadedModule& one : modules)
    names.push_back(std::to_string(one.line) + " " + one.name + " " + one.version);
  EXPECT_EQ(names,
            (std::vector<std::string>{"1 StdEnv 2023", "1 gcc ", "2 python 3.11", "5 cuda ", "9 a b/c"}));
}

TEST(IsLaunched, BySrunOrMpirun) {
  const auto all = script_commands("srun -n 4 /opt/x\n/usr/bin/mpiexec.hydra x\nenv x\n");
  EXPECT_TRUE(is_launched(all[0], 3));
  EXPECT_TRUE(is_launched(all[1], 1));
  EXPECT_FALSE(is_launched(all[2], 1));
  EXPECT_EQ(program_name("/opt/x/gmx"), "gmx");
}

}  // namespace
}  // namespace minke::view
