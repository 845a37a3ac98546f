#include "text/array_spec.h"

#include <gtest/gtest.h>

#include "model/job_terms.pb.h"

namespace minke::text {
namespace {

std::string normalized(std::string_view text) {
  auto array = parse_array_spec(text);
  return array ? format_array_spec(*array) : "error: " + array.error().message;
}

TEST(ArraySpec, ReadsAndWrites) {
  EXPECT_EQ(normalized("0-4%2"), "0-4%2");
  EXPECT_EQ(normalized("1,3,5"), "1,3,5");
  EXPECT_EQ(normalized("1-7:2"), "1-7:2");
  EXPECT_EQ(normalized("1-8:2"), "1-7:2");
  EXPECT_EQ(normalized("5-5"), "5");
  EXPECT_EQ(normalized("5-6:4"), "5");
  EXPECT_EQ(normalized("[0-4%2]"), "0-4%2");
  EXPECT_EQ(normalized("[1-3]"), "1-3");
  EXPECT_EQ(normalized("1, 2"), "1-2");
  EXPECT_EQ(normalized("0-4%0"), "0-4");
  EXPECT_EQ(normalized("0-4000001"), "0-4000001");
}

TEST(ArraySpec, IsASet) {
  EXPECT_EQ(normalized("3,1,2"), "1-3");
  EXPECT_EQ(normalized("1,1,1"), "1");
  EXPECT_EQ(normalized("1-5,3-8"), "1-8");
  EXPECT_EQ(normalized("5,1-10"), "1-10");
  EXPECT_EQ(normalized("1-7:2,3"), "1,3,5,7");
  EXPECT_EQ(normalized("1-7:2,2-8:2"), "1-8");
  EXPECT_EQ(normalized("1-7:2,20"), "1-7:2,20");
  EXPECT_EQ(count_indices(*parse_array_spec("1-7:2,1-7:3,0-10")), 11u);
}

TEST(ArraySpec, NothingBehindThePercentSignIsNoThrottle) {
  EXPECT_EQ(parse_array_spec("0-4%")->max_running(), 0u);
  EXPECT_EQ(parse_array_spec("[0-4%]")->max_running(), 0u);
}

TEST(ArraySpec, Refuses) {
  for (const char* text :
       {"",      "x",    "1-",    "3-1",  "1:2",  "1-5:0", "4000002", "-1",         ",",  ",,",
        "1-2-3", "1-5:", "[[1]]", "1--3", "1-3x", "0x10",  "1.5",     "4294967296", "][", "[1]2"}) {
    EXPECT_EQ(normalized(text), "error: Invalid job array specification") << text;
  }
}

// As Slurm reads them.
TEST(ArraySpec, UnusualOnes) {
  EXPECT_EQ(normalized("0-"), normalized("0"));
  EXPECT_EQ(normalized("%2"), normalized("0%2"));
  EXPECT_EQ(normalized("1-3%2%3"), normalized("1-3%2"));
  EXPECT_EQ(normalized("1-3%2,5%4"), "1-3,5%2");
  EXPECT_EQ(normalized("1-3%0,5%2"), "1-3,5");
  EXPECT_EQ(normalized("1-3%,5%2"), "1-3,5");
  EXPECT_EQ(normalized("%2,5"), "0,5%2");
  EXPECT_EQ(normalized("1%2-3"), "1%2");
  for (const char* none : {"1%x", "1%-2", "1%"}) EXPECT_EQ(normalized(none), "1") << none;
  EXPECT_EQ(normalized("1-3%4294967296"), "1-3%4000001");
  EXPECT_EQ(normalized("+1-+3:+2%+2"), "1-3:2%2");
  for (const char* brackets : {"[1-3],5", "[1-3,5", "[1-3,5]"})
    EXPECT_EQ(normalized(brackets), "1-3,5") << brackets;
  EXPECT_EQ(normalized("[1-3%2],5"), "1-3,5%2");
  EXPECT_EQ(normalized("1-3]"), "1-3");
}

TEST(ArraySpec, CountsWithoutExpanding) {
  auto array = *parse_array_spec("0-4000000");
  EXPECT_EQ(array.ranges_size(), 1);
  EXPECT_EQ(count_indices(array), 4000001u);
  auto stepped = *parse_array_spec("10-20:5,30");
  EXPECT_EQ(count_indices(stepped), 4u);
  EXPECT_TRUE(contains_index(stepped, 15));
  EXPECT_FALSE(contains_index(stepped, 16));
  EXPECT_FALSE(contains_index(stepped, 25));
  EXPECT_EQ(highest_index(stepped), 30u);
  EXPECT_EQ(lowest_index(stepped), 10u);
  // Two overlapping stepped ranges of millions cannot be kept as ranges; they are refused, not expanded.
  EXPECT_FALSE(parse_array_spec("0-4000000:2,1-4000000:3"));
}

// `squeue -o %K` of Slurm 22.05.
TEST(ArraySpec, ShownAsSqueueShowsIt) {
  auto shown = [](const char* text) { return format_array_tasks(*parse_array_spec(text)); };
  EXPECT_EQ(shown("1-7:2,20"), "1,3,5,7,20");
  EXPECT_EQ(shown("1-3,9%2"), "1-3,9%2");
  EXPECT_EQ(shown("1-3,7-20:3,1"), "1-3,7,10,13,16,19");
  EXPECT_EQ(shown("0-10:2"), "0,2,4,6,8,10");
  EXPECT_EQ(shown("0-12:2"), "0-12:2");
  EXPECT_EQ(shown("1,4,7,10,13,16"), "1-16:3");
  EXPECT_EQ(shown("2-5:3,8,11-17:3%2"), "2-17:3%2");
  EXPECT_EQ(shown("14,17,20,23,26"), "14,17,20,23,26");
  EXPECT_EQ(shown("1,4,7,10,13,16,20"), "1,4,7,10,13,16,20");
  EXPECT_EQ(shown("0-300:50,301"), "0,50,100,150,200,250,300-301");
  EXPECT_EQ(shown("0-4000:3%7"), "0-3999:3%7");
  EXPECT_EQ(shown("0-4000000:1000000"), "0,1000000,2000000,3000000,4000000");
  EXPECT_EQ(shown("1-99:2,100"), "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39,41,43...");
  EXPECT_EQ(shown("100-9999:3,1,2"), "1-2,100,103,106,109,112,115,118,121,124,127,130,133,136,139,...");
  EXPECT_EQ(shown("0,100-9999:3%7"), "0,100,103,106,109,112,115,118,121,124,127,130,133,136,139,14...%7");
  EXPECT_EQ(format_array_tasks(*parse_array_spec("1-99:2,200"), 0).substr(134), "3,95,97,99,200");
  EXPECT_EQ(format_array_tasks(*parse_array_spec("1-9:2"), 1), "...");
}

}  // namespace
}  // namespace minke::text
