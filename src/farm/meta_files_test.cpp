#include "farm/meta_files.h"

#include <gtest/gtest.h>

namespace minke::farm {
namespace {

TEST(MetaTable, GetsNumbersWhereItHasNone) {
  const auto table = read_meta_table("sleep 5\n./case 7\n\n", "table.dat");
  ASSERT_TRUE(table);
  EXPECT_TRUE(table->numbered);
  EXPECT_EQ(table->content, "1 sleep 5\n2 ./case 7\n");
}

TEST(MetaTable, KeepsTheNumbersThatItHas) {
  const auto table = read_meta_table("2 sleep 5\n7 sleep 6", "table.dat");
  ASSERT_TRUE(table);
  EXPECT_FALSE(table->numbered);
  EXPECT_EQ(table->content, "2 sleep 5\n7 sleep 6\n");
  EXPECT_EQ(table->ids, (std::vector<std::string>{"2", "7"}));
  EXPECT_TRUE(read_meta_table("5 a\n5 b\n", "t")->numbered);  // parameters
}

TEST(MetaTable, NamesTheLineThatIsWrong) {
  EXPECT_NE(read_meta_table("a\n\nb\n", "table.dat").error().message.find("table.dat, line 2: it is empty"),
            std::string::npos);
  EXPECT_NE(read_meta_table(std::string("a\nb\0c\n", 6), "t").error().message.find("line 2"),
            std::string::npos);
  EXPECT_NE(read_meta_table("a\r\nb\r\n", "t").error().message.find("dos2unix"), std::string::npos);
  EXPECT_FALSE(read_meta_table("\n\n", "t"));
}

TEST(MetaConfig, IsReadAsAShellWould) {
  const auto config = read_meta_config(
      "# NJOBS_MAX=1\nNJOBS_MAX=5  # few\nexport "
      "N_failed_max=\"3\"\ndt_failed=0.5\nWHOLE_NODE=1\nNWHOLE=192\n"
      "OTHER=abc\nexport NJOBS_MAX N_failed_max\n");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->jobs_max, 5u);
  EXPECT_EQ(config->n_failed_max, 3u);
  EXPECT_DOUBLE_EQ(config->dt_failed, 0.5);
  EXPECT_TRUE(config->whole_node);
  EXPECT_EQ(config->n_whole, 192u);
}

TEST(MetaConfig, NamesTheLineThatIsWrong) {
  for (const char* wrong : {"\nNJOBS_MAX=many", "\ndt_failed=", "\nN_failed_max=-1"}) {
    const auto config = read_meta_config(wrong);
    ASSERT_FALSE(config) << wrong;
    EXPECT_NE(config.error().message.find("config.h, line 2"), std::string::npos);
  }
  EXPECT_FALSE(read_meta_config("NJOBS_MAX=0"));
  EXPECT_FALSE(read_meta_config("WHOLE_NODE=1\nNWHOLE=0"));
}

TEST(Statuses, OfACaseTheLastOneCounts) {
  std::map<std::string, int> statuses;
  EXPECT_EQ(add_statuses("1 0\n2 3\nbroken\n\n2 0\n", statuses), 3u);
  EXPECT_EQ(statuses, (std::map<std::string, int>{{"1", 0}, {"2", 0}}));
}

TEST(ByNumber, PutsTenBehindTwo) {
  EXPECT_TRUE(ByNumber()("2", "10"));
  EXPECT_FALSE(ByNumber()("10", "2"));
  EXPECT_TRUE(ByNumber()("10", "a"));
}

}  // namespace
}  // namespace minke::farm
