#include "text/sluid.h"

#include <gtest/gtest.h>

#include <cctype>

#include "model/job_record.pb.h"
#include "text/job_id.h"

namespace minke::text {
namespace {

TEST(Sluid, HasTheSecondOfTheSubmissionAndTheNumber) {
  const std::string id = format_sluid({1795466370, 1025});
  EXPECT_EQ(id.size(), 14U);
  EXPECT_EQ(id[0], 's');
  const auto read = parse_sluid(id);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->submit_time, 1795466370);
  EXPECT_EQ(read->job_id, 1025U);
}

TEST(Sluid, SortsByTheTimeOfSubmission) {
  EXPECT_LT(format_sluid({1795466370, 9000}), format_sluid({1795466371, 12}));
  EXPECT_LT(format_sluid({1795466370, 12}), format_sluid({1795466370, 13}));
  EXPECT_EQ(format_sluid(Sluid{0, 12}), format_sluid(Sluid{1577836800, 12}));  // before 2020: as if then
}

TEST(Sluid, IsReadInAnyCaseAndNothingElseIs) {
  std::string id = format_sluid({1795466370, 4294967293});
  for (char& letter : id) letter = static_cast<char>(std::tolower(letter));
  EXPECT_EQ(parse_sluid(id)->job_id, 4294967293U);
  for (const char* wrong :
       {"", "s", "1025", "s0000000000000", "s000000000000U", "sZZZZZZZZZZZZZ", "s00000000000011"})
    EXPECT_FALSE(parse_sluid(wrong)) << wrong;
}

TEST(Sluid, NamesItsJobWhereANumberDoes) {
  model::JobRecord job;
  job.set_job_id(77);
  job.set_submit_time(1795466370);
  const std::string id = format_sluid(job);
  EXPECT_EQ(parse_job_id(id)->job_id, 77U);
  EXPECT_EQ(parse_job_id(id + ".batch")->step->kind, model::STEP_BATCH);
  EXPECT_EQ(parse_job_id_list("12," + id)->at(1).job_id, 77U);
  EXPECT_FALSE(parse_job_id(id + "1"));
}

}  // namespace
}  // namespace minke::text
