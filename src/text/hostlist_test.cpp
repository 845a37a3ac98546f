#include "text/hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace minke::text {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> expand(std::string_view text) {
  auto hosts = expand_hostlist(text);
  EXPECT_TRUE(hosts) << text;
  return hosts ? *hosts : std::vector<std::string>{};
}

TEST(Hostlist, Expands) {
  EXPECT_THAT(expand("n[1-3,7],m01"), ElementsAre("n1", "n2", "n3", "n7", "m01"));
  EXPECT_THAT(expand("n[09-11]"), ElementsAre("n09", "n10", "n11"));
  EXPECT_THAT(expand("n[0998-1002]"), ElementsAre("n0998", "n0999", "n1000", "n1001", "n1002"));
  EXPECT_THAT(expand("rack[0-1]node[1-2]"),
              ElementsAre("rack0node1", "rack0node2", "rack1node1", "rack1node2"));
  // Of three brackets the last counts fastest, then the first.
  EXPECT_THAT(expand("a[0-1]b[0-1]c[0-1]"),
              ElementsAre("a0b0c0", "a0b0c1", "a1b0c0", "a1b0c1", "a0b1c0", "a0b1c1", "a1b1c0", "a1b1c1"));
  EXPECT_THAT(expand("n[1-2][3-4]"), ElementsAre("n13", "n14", "n23", "n24"));
  EXPECT_THAT(expand("a[1]b[2]"), ElementsAre("a1b2"));
  EXPECT_THAT(expand("1,2"), ElementsAre("1", "2"));
  EXPECT_THAT(expand("n1 n2\tn3,,n4,"), ElementsAre("n1", "n2", "n3", "n4"));
  EXPECT_THAT(expand("n[1,1,1]"), ElementsAre("n1", "n1", "n1"));
  EXPECT_THAT(expand(""), ElementsAre());
  EXPECT_EQ(expand("n[1-65536]").size(), kMaxHosts);
  EXPECT_THAT(expand("m[01-02]x,n5"), ElementsAre("m01x", "m02x", "n5"));
  EXPECT_THAT(expand("m[1-2]x[3-4]y"), ElementsAre("m1x3y", "m1x4y", "m2x3y", "m2x4y"));
}

TEST(Hostlist, RefusesBadAndHugeOnes) {
  for (const char* text : {"n[3-1]", "n[]", "n[a]", "n[1-", "n1]", "n[1-3,]", "n[,1]", "n[1-3:2]", "n[1--3]",
                           "n[-1]", "n[1-65537]", "n[[1]]", "n[1 2]", "n[1-9999999999999999999999]",
                           "n[1-40000],m[1-40000]", "a[1-300]b[1-300]", "n]1["}) {
    auto hosts = expand_hostlist(text);
    ASSERT_FALSE(hosts) << text;
    EXPECT_EQ(hosts.error().message, std::string("Invalid hostlist: ") + text);
  }
}

// Each line: what `scontrol show hostlist` of Slurm 22.05 makes of it, and the sorted, unique form.
TEST(Hostlist, CompressesAsSlurm) {
  const struct {
    const char *text, *plain, *sorted;
  } cases[] = {
      {"n[1-3,7],m01", "n[1-3,7],m01", "m01,n[1-3,7]"},
      {"n1,n2,n3,n10", "n[1-3,10]", "n[1-3,10]"},
      {"n01,n02,n3", "n[01-02,3]", "n[3,01-02]"},
      {"n[01-03],n[4-5]", "n[01-03,4-5]", "n[4-5,01-03]"},
      {"n3,n1,n2,n1", "n[3,1-2,1]", "n[1-3]"},
      {"a1-ib,a2-ib", "a1-ib,a2-ib", "a1-ib,a2-ib"},
      {"rack[0-1]node[1-2]", "rack0node[1-2],rack1node[1-2]", "rack0node[1-2],rack1node[1-2]"},
      {"n[9-11]", "n[9-11]", "n[9-11]"},
      {"n[009-011]", "n[009-011]", "n[009-011]"},
      {"n09,n10,n11,n9", "n[09-11,9]", "n[9,09-11]"},
      {"1,2,3", "[1-3]", "[1-3]"},
      {"n1,m1,n2", "n1,m1,n2", "m1,n[1-2]"},
      {"gpu[001-003,005],login", "gpu[001-003,005],login", "gpu[001-003,005],login"},
      {"n[1,1,1]", "n[1,1,1]", "n1"},
      {"a,b,a", "a,b,a", "a,b"},
      {"c-1-2,c-1-3,c-2-1", "c-1-[2-3],c-2-1", "c-1-[2-3],c-2-1"},
      {"n[00-1]", "n[00-01]", "n[00-01]"},
      {"n[1-001]", "n1", "n1"},
      {"n0,n00,n000", "n[0,00,000]", "n[0,00,000]"},
      {"n08,n09,n10,n010", "n[08-10,010]", "n[08-10,010]"},
      {"n[998-1002]", "n[998-1002]", "n[998-1002]"},
      {"n[0998-1002]", "n[0998-1002]", "n[0998-1002]"},
      {"n1,N1", "n1,N1", "N1,n1"},
      {"b2,b1,a2,a1", "b[2,1],a[2,1]", "a[1-2],b[1-2]"},
      {"n[1-3],n[2-4]", "n[1-3,2-4]", "n[1-4]"},
      {"localhost", "localhost", "localhost"},
      {"", "", ""},
  };
  for (const auto& c : cases) {
    std::vector<std::string> hosts = expand(c.text);
    EXPECT_EQ(compress_hostlist(hosts), c.plain) << c.text;
    EXPECT_EQ(compress_hostlist_sorted(hosts), c.sorted) << c.text;
    EXPECT_EQ(expand(compress_hostlist(hosts)), hosts) << c.text;
  }
}

TEST(Hostlist, NumbersTooLongToCountAreNames) {
  std::vector<std::string> hosts = {"n99999999999999999998", "n99999999999999999999"};
  EXPECT_EQ(compress_hostlist(hosts), "n99999999999999999998,n99999999999999999999");
}

}  // namespace
}  // namespace minke::text
