#include "text/licenses.h"

#include <gtest/gtest.h>

namespace minke::text {
namespace {

using List = std::vector<std::pair<std::string, uint32_t>>;

TEST(Licenses, AreNamesWithCounts) {
  EXPECT_EQ(parse_licenses("matlab").value(), (List{{"matlab", 1}}));
  EXPECT_EQ(parse_licenses("matlab:2,ansys@server:1").value(), (List{{"matlab", 2}, {"ansys@server", 1}}));
  EXPECT_EQ(parse_licenses("matlab: 3;ansys=+2").value(), (List{{"matlab", 3}, {"ansys", 2}}));
  EXPECT_TRUE(parse_licenses("").value().empty());
  EXPECT_TRUE(parse_licenses("(null)").value().empty());
  EXPECT_TRUE(parse_licenses("matlab:0").value().empty());
}

TEST(Licenses, AreRefusedWhereTheyCannotBeRead) {
  for (const char* bad : {":2", "matlab:", "matlab:x", "matlab:-1", "a|b", "matlab:99999999999"}) {
    const auto parsed = parse_licenses(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().message, "Invalid license specification");
  }
}

}  // namespace
}  // namespace minke::text
