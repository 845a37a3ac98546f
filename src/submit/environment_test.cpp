#include "submit/environment.h"

#include <gtest/gtest.h>

#include <vector>

namespace minke::submit {
namespace {

// Shows NULs as ";".
std::string exported(std::string_view option) {
  const std::vector<std::string> environment = {"HOME=/root",     "X=1",       "Y=env",
                                                "SLURM_FOO=keep", "SPANK_A=1", "E="};
  std::string block = export_environment(environment, option);
  for (char& c : block) {
    if (c == '\0') c = ';';
  }
  return block;
}

// The values that jobs of Slurm 22.05 saw in these variables.
TEST(Environment, Export) {
  const std::string all = "HOME=/root;X=1;Y=env;SLURM_FOO=keep;SPANK_A=1;E=;";
  EXPECT_EQ(exported(""), all);
  EXPECT_EQ(exported("ALL"), all);
  EXPECT_EQ(exported("all"), all);
  EXPECT_EQ(exported("NONE"), "SLURM_FOO=keep;SPANK_A=1;");
  EXPECT_EQ(exported("none"), "SLURM_FOO=keep;SPANK_A=1;");
  EXPECT_EQ(exported("NIL"), "SLURM_FOO=keep;SPANK_A=1;");
  EXPECT_EQ(exported("X"), "X=1;SLURM_FOO=keep;SPANK_A=1;");
  EXPECT_EQ(exported("ALL,X=2"), "HOME=/root;X=2;Y=env;SLURM_FOO=keep;SPANK_A=1;E=;");
  EXPECT_EQ(exported("X=2,ALL"), "X=1;HOME=/root;Y=env;SLURM_FOO=keep;SPANK_A=1;E=;");
  EXPECT_EQ(exported("X=\"a,b\",Q=3"), "X=\"a,b\";Q=3;SLURM_FOO=keep;SPANK_A=1;");
  EXPECT_EQ(exported("X='a b',NOPE"), "X='a b';SLURM_FOO=keep;SPANK_A=1;");
  EXPECT_EQ(exported("E,,HOM,=x"), "E=;SLURM_FOO=keep;SPANK_A=1;");
  EXPECT_EQ(exported("X='a,b"), "X='a,b;SLURM_FOO=keep;SPANK_A=1;");
}

TEST(Environment, LoginEnvironment) {
  for (const char* option : {"", "ALL", "all", "NIL"}) EXPECT_FALSE(export_needs_user_env(option)) << option;
  for (const char* option : {"NONE", "none", "X", "ALL,X=1"})
    EXPECT_TRUE(export_needs_user_env(option)) << option;
}

TEST(Environment, ExportFiles) {
  using namespace std::string_literals;
  EXPECT_EQ(*read_export_file("A=1\0B=x\ny\0"s), "A=1\0B=x\ny\0"s);
  EXPECT_EQ(*read_export_file("A=1\nB=2\n"), "A=1\0B=2\0"s);
  EXPECT_EQ(*read_export_file(""), "");
  EXPECT_FALSE(read_export_file("A=1\nnonsense\n"));
  EXPECT_FALSE(read_export_file("=1"));
}

}  // namespace
}  // namespace minke::submit
