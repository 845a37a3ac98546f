#include "software/wheel_query.h"
#include "software/wheel_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace minke::software {
namespace {

using testing::ElementsAre;

std::vector<Wheel> wheels() {
  std::vector<Wheel> out;
  for (const char* file :
       {"h5netcdf-0.7.4-py2.py3-none-any.whl", "netCDF4-1.5.8-cp39-cp39-linux_x86_64.whl",
        "numpy-1.23.0+computecanada-cp310-cp310-linux_x86_64.whl", "numpy-1.9.0-cp310-cp310-linux_x86_64.whl",
        "numpy-1.23.0+computecanada-cp311-cp311-linux_x86_64.whl",
        "cryptography-42.0-1-cp37-abi3-manylinux_2_28_x86_64.whl"})
    out.push_back(*parse_wheel_name(file));
  return out;
}

std::string table(WheelQuery query) {
  const auto rows = query_wheels(wheels(), query);
  return rows ? format_table("simple", query.columns, *rows) : rows.error().message;
}

TEST(WheelName, TakenApart) {
  const auto wheel = parse_wheel_name("cryptography-42.0-1-cp37-abi3-manylinux_2_28_x86_64.whl");
  ASSERT_TRUE(wheel);
  EXPECT_EQ(wheel->build, "1");
  EXPECT_EQ(wheel->platform, "manylinux_2_28_x86_64");
  for (const char* bad : {"x.whl", "a-1-py3-none.whl", "a--py3-none-any.whl", "../a-1-py3-none-any.whl",
                          "a-1-py3-none-any.zip", "a-1-2-3-py3-none-any.whl"})
    EXPECT_FALSE(parse_wheel_name(bad)) << bad;
}

TEST(WheelQuery, TheDocumentedTable) {
  EXPECT_EQ(table({.patterns = {"*CDF*"}}),
            "name      version    python    arch\n"
            "--------  ---------  --------  -------\n"
            "h5netcdf  0.7.4      py2,py3   generic\n"
            "netCDF4   1.5.8      cp39      generic\n");
}

TEST(WheelQuery, TheLatestOfEachPythonOrAll) {
  const auto latest = query_wheels(wheels(), {.patterns = {"NumPy"}, .columns = {"version", "python"}});
  EXPECT_THAT(*latest, ElementsAre(ElementsAre("1.23.0", "cp310"), ElementsAre("1.23.0", "cp311")));
  const auto all = query_wheels(
      wheels(), {.patterns = {"numpy"}, .all_versions = true, .columns = {"version", "localversion"}});
  EXPECT_THAT(*all, ElementsAre(ElementsAre("1.23.0", "computecanada"),
                                ElementsAre("1.23.0", "computecanada"), ElementsAre("1.9.0", "")));
  const auto condensed =
      query_wheels(wheels(), {.patterns = {"numpy"}, .columns = {"version", "python"}, .condense = true});
  EXPECT_THAT(*condensed, ElementsAre(ElementsAre("1.23.0", "cp310,cp311")));
}

TEST(WheelQuery, VersionsAndPythons) {
  const auto count = [](const std::string& pattern) {
    return query_wheels(wheels(), {.patterns = {pattern}, .all_versions = true})->size();
  };
  EXPECT_EQ(count("numpy==1.23.0"), 2u);
  EXPECT_EQ(count("numpy<1.23"), 1u);
  EXPECT_EQ(count("numpy>=1.9,<2"), 3u);
  EXPECT_EQ(count("numpy~=1.20"), 2u);
  EXPECT_EQ(count("numpy!=1.9.0"), 2u);
  EXPECT_EQ(count("numpy==1.*"), 3u);
  EXPECT_EQ(count("numpy[extra]>1.9.0"), 2u);
  EXPECT_EQ(query_wheels(wheels(), {.patterns = {"*"}, .pythons = {"3.10"}})->size(),
            3u);  // h5netcdf, numpy, cryptography
  EXPECT_EQ(query_wheels(wheels(), {.patterns = {"cryptography"}, .pythons = {"3.6"}})->size(), 0u);
  EXPECT_EQ(query_wheels(wheels(), {.version = "1.*"})->size(), 4u);
  EXPECT_FALSE(query_wheels(wheels(), {.patterns = {"numpy=1"}}));
  EXPECT_FALSE(query_wheels(wheels(), {.columns = {"nme"}}));
}

TEST(WheelTables, Formats) {
  const std::vector<std::string> columns = {"name", "python"};
  const std::vector<std::vector<std::string>> rows = {{"a", "cp310,cp311"}, {"b", ""}};
  EXPECT_EQ(format_table("plain", columns, rows), "name    python\na       cp310,cp311\nb\n");
  EXPECT_EQ(format_table("github", columns, rows),
            "| name | python |\n|---|---|\n| a | cp310,cp311 |\n| b |  |\n");
  EXPECT_EQ(format_table("mediawiki", columns, rows),
            "{| class=\"wikitable\"\n|-\n! name !! python\n|-\n| a || cp310,cp311\n|-\n| b || \n|}\n");
  EXPECT_EQ(format_table("tsv", columns, rows), "name\tpython\na\tcp310,cp311\nb\t\n");
  EXPECT_EQ(format_table("csv", columns, rows), "name,python\na,\"cp310,cp311\"\nb,\n");
}

TEST(WheelTables, NamesOfFiles) {
  EXPECT_EQ(file_names({{"a", "1.0", "computecanada", "1", "cp310,cp311", "abi3", "linux_x86_64"},
                        {"b", "2", "", "", "py3", "none", "any"},
                        {"c", "", "", "", "", "", ""}}),
            "a-1.0+computecanada-1-cp310.cp311-abi3-linux_x86_64.whl\nb-2-py3-none-any.whl\n");
  EXPECT_EQ(file_name_columns().size(), 7u);
}

TEST(WheelQuery, WhatIsNotThere) {
  EXPECT_EQ(table({.patterns = {"torch"}}),
            "name    version    python    arch\n------  ---------  --------  ------\n");
  EXPECT_EQ(
      table({.patterns = {"torch==2.1", "netcdf4"}, .columns = {"name", "version"}, .not_available = true}),
      "name     version\n-------  ---------\nnetCDF4  1.5.8\ntorch\n");
  EXPECT_EQ(query_wheels(wheels(), {.patterns = {"torch", "netcdf4"}, .only_not_available = true})->size(),
            1u);
}

}  // namespace
}  // namespace minke::software
