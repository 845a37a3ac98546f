#include "software/version.h"

#include <gtest/gtest.h>

namespace minke::software {
namespace {

TEST(Version, NumbersCompareAsNumbers) {
  const std::vector<std::string> rising = {"2.7.18",  "3.9.18", "3.11rc1", "3.11", "3.11.2",
                                           "3.11.10", "2022b",  "2023a",   "2023b"};
  for (size_t i = 0; i < rising.size(); ++i) {
    for (size_t j = 0; j < rising.size(); ++j) {
      const int order = compare_versions(rising[i], rising[j]);
      EXPECT_EQ(order < 0, i < j) << rising[i] << " " << rising[j];
      EXPECT_EQ(order == 0, i == j) << rising[i] << " " << rising[j];
    }
  }
  EXPECT_EQ(compare_versions("3.011", "3.11"), 0);
  EXPECT_EQ(compare_versions("", ""), 0);
  EXPECT_LT(compare_versions("", "1"), 0);
}

TEST(Version, NamedByItsBeginning) {
  EXPECT_TRUE(names_version("3.11", "3.11.2"));
  EXPECT_TRUE(names_version("3.11.2", "3.11.2"));
  EXPECT_FALSE(names_version("3.1", "3.11.2"));
  EXPECT_FALSE(names_version("3.11.2", "3.11"));
  EXPECT_FALSE(names_version("", "3.11"));
}

TEST(Version, TheNearestOne) {
  const std::vector<std::string> pythons = {"2.7.18", "3.8.18", "3.11.2", "3.11.7", "3.13.0"};
  EXPECT_EQ(nearest_version("3.11.5", pythons, true), "3.11.7");
  EXPECT_EQ(nearest_version("3.11.9", pythons, true), "3.11.7");
  EXPECT_EQ(nearest_version("3.12", pythons, true), "3.13.0");
  EXPECT_EQ(nearest_version("3.10.13", pythons, true), "3.11.2");
  EXPECT_EQ(nearest_version("3.14", pythons, true), "3.13.0");
  EXPECT_EQ(nearest_version("4", pythons, true), std::nullopt);
  EXPECT_EQ(nearest_version("11.4", {"12.2", "12.6"}, false), "12.2");
  EXPECT_EQ(nearest_version("9.3.0", {"12.2.0"}, false), "12.2.0");
  EXPECT_EQ(nearest_version("2020", {"2023"}, false), "2023");
  EXPECT_EQ(nearest_version("1", {}, false), std::nullopt);
}

}  // namespace
}  // namespace minke::software
