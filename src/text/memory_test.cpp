#include "text/memory.h"

#include <gtest/gtest.h>

namespace minke::text {
namespace {

// Values from Slurm's own str_to_mbytes: 22.05's, and 26.05's of those with blanks and signs.
TEST(Memory, MibAsSlurmReadsThem) {
  const struct {
    const char* text;
    uint64_t mib;
  } cases[] = {{"0", 0},         {"1", 1},  {"4G", 4096}, {"4g", 4096}, {"500M", 500}, {"1T", 1048576},
               {"1024K", 1},     {"1K", 1}, {"1025K", 2}, {"1023k", 1}, {"4GB", 4096}, {"4MB", 4},
               {"4TB", 4194304}, {"2k", 1}, {"0K", 0},    {"+4", 4},    {" 4", 4},     {"\t4G", 4096}};
  for (const auto& c : cases) {
    auto got = parse_mib(c.text);
    ASSERT_TRUE(got) << c.text;
    EXPECT_EQ(*got, c.mib) << c.text;
  }
  for (const char* text : {"", "G", "-1", "abc", "4 G", "4Gi", "4GiB", "1.5G", "18446744073709551615", "1B",
                           "4x", "1P", "18446744073709551616", "99999999999999999T", "+", "++4"}) {
    EXPECT_FALSE(parse_mib(text)) << text;
  }
}

// Values from Slurm 22.05's own convert_num_unit.
TEST(Memory, UnitsAsSlurmWritesThem) {
  const struct {
    uint64_t mib;
    const char *exact, *none, *any, *giga, *kilo;
  } cases[] = {
      {0, "0", "0", "0", "0", "0"},
      {1, "1M", "1M", "1M", "0.00G", "1024K"},
      {500, "500M", "500M", "500M", "0.49G", "512000K"},
      {1023, "1023M", "1023M", "1023M", "1.00G", "1047552K"},
      {1024, "1G", "1024M", "1G", "1G", "1048576K"},
      {1025, "1025M", "1025M", "1.00G", "1.00G", "1049600K"},
      {1536, "1.50G", "1536M", "1.50G", "1.50G", "1572864K"},
      {4000, "4000M", "4000M", "3.91G", "3.91G", "4096000K"},
      {1048576, "1T", "1048576M", "1T", "1024G", "1073741824K"},
      {1048577, "1048577M", "1048577M", "1.00T", "1024.00G", "1073742848K"},
      {1572864, "1.50T", "1572864M", "1.50T", "1536G", "1610612736K"},
      {10240, "10G", "10240M", "10G", "10G", "10485760K"},
      {999999, "999999M", "999999M", "976.56G", "976.56G", "1023998976K"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(format_mib(c.mib), c.exact);
    EXPECT_EQ(format_mib(c.mib, Scaling::kNone), c.none);
    EXPECT_EQ(format_mib(c.mib, Scaling::kAny), c.any);
    EXPECT_EQ(format_mib(c.mib, Scaling::kExact, Unit::kGiga), c.giga);
    EXPECT_EQ(format_mib(c.mib, Scaling::kExact, Unit::kKilo), c.kilo);
  }
  EXPECT_EQ(format_units(1536, Unit::kNone), "1.50K");
  EXPECT_EQ(format_units(1025, Unit::kNone), "1025");
  EXPECT_EQ(format_units(12636160, Unit::kNone), "12340K");  // a resident set size in bytes, as in sacct
}

TEST(Memory, ExactFormsAreReadBack) {
  for (uint64_t mib : {1u, 500u, 1024u, 4000u, 4096u, 1048576u, 999999u}) {
    EXPECT_EQ(parse_mib(format_mib(mib)).value(), mib);
  }
}

TEST(Memory, SeffForms) {
  EXPECT_EQ(format_kib_seff(0), "0.00 MB");
  EXPECT_EQ(format_kib_seff(500), "500.00 KB");
  EXPECT_EQ(format_kib_seff(1536), "1.50 MB");
  EXPECT_EQ(format_kib_seff(1268777), "1.21 GB");
}

TEST(Memory, UnitLetters) {
  EXPECT_EQ(parse_unit('g'), Unit::kGiga);
  EXPECT_EQ(parse_unit('P'), Unit::kPeta);
  EXPECT_FALSE(parse_unit('x'));
}

}  // namespace
}  // namespace minke::text
