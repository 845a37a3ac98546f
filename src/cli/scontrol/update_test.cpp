#include "cli/scontrol/update.h"

#include <gtest/gtest.h>

namespace minke::cli {
namespace {

std::string error_of(std::vector<std::string> words) {
  auto result = parse_update(words);
  return result ? std::string() : result.error().message;
}

std::string fields_of(const google::protobuf::RepeatedPtrField<rpc::Field>& fields) {
  std::string out;
  for (const rpc::Field& field : fields) out += field.name() + "=" + field.value() + ";";
  return out;
}

TEST(ScontrolUpdate, JobsWithFullNamesForShortOnes) {
  auto result = parse_update({"JobId=49", "timelim=7", "NAME=x,y", "Partition=short"});
  ASSERT_TRUE(result);
  ASSERT_EQ(result->messages.size(), 1u);
  EXPECT_EQ(result->messages[0].update_job().job().job_id(), 49u);
  EXPECT_EQ(fields_of(result->messages[0].update_job().fields()), "TimeLimit=7;Name=x,y;Partition=short;");
}

TEST(ScontrolUpdate, NamesAndValuesMayBeWordsOfTheirOwn) {
  auto result = parse_update({"job", "49", "timelimit", "7"});
  ASSERT_TRUE(result);
  EXPECT_EQ(fields_of(result->messages[0].update_job().fields()), "TimeLimit=7;");
}

TEST(ScontrolUpdate, SignsBeforeTheEqualsSignGoToTheValue) {
  auto result = parse_update({"jobid=49", "TimeLimit+=30"});
  ASSERT_TRUE(result);
  EXPECT_EQ(fields_of(result->messages[0].update_job().fields()), "TimeLimit=+30;");
}

TEST(ScontrolUpdate, ListsOfJobsAreRequestsOfTheirOwn) {
  auto result = parse_update({"jobid=49,50_[1-3]", "nice=5"});
  ASSERT_TRUE(result);
  ASSERT_EQ(result->messages.size(), 2u);
  EXPECT_EQ(result->messages[1].update_job().job().job_id(), 50u);
  EXPECT_EQ(result->messages[1].update_job().job().tasks(0).last(), 3u);
  EXPECT_EQ(result->names, (std::vector<std::string>{"49", "50_[1-3]"}));
}

TEST(ScontrolUpdate, JobNameChoosesWhereNoIdDoes) {
  auto by_name = parse_update({"jobname=train", "nice=5"});
  ASSERT_TRUE(by_name);
  EXPECT_EQ(by_name->messages[0].update_job().name(), "train");
  auto by_id = parse_update({"jobname=train", "jobid=49"});
  ASSERT_TRUE(by_id);
  EXPECT_EQ(fields_of(by_id->messages[0].update_job().fields()), "JobName=train;");
}

TEST(ScontrolUpdate, NodesAndPartitions) {
  auto node = parse_update({"nodename=n[1-3]", "state=drain", "reason=bad disk"});
  ASSERT_TRUE(node);
  EXPECT_EQ(node->messages[0].update_node().node_list(), "n[1-3]");
  EXPECT_EQ(fields_of(node->messages[0].update_node().fields()), "State=drain;Reason=bad disk;");
  auto partition = parse_update({"partition=short", "state=down"});
  ASSERT_TRUE(partition);
  EXPECT_EQ(partition->messages[0].update_partition().name(), "short");
}

TEST(ScontrolUpdate, SaysWhatIsWrongAsSlurmDoes) {
  EXPECT_EQ(error_of({}), "too few arguments for update keyword");
  EXPECT_EQ(error_of({"foo=bar"}),
            "No valid entity in update command\n"
            "Input line must include \"NodeName\", \"PartitionName\", \"Reservation\", \"JobId\", or "
            "\"SlurmctldDebug\"");
  EXPECT_EQ(error_of({"jobid=49", "foo=1"}),
            "Update of this parameter is not supported: foo=1\nRequest aborted");
  EXPECT_EQ(error_of({"jobid=49"}), "No changes specified");
  EXPECT_EQ(error_of({"nodename=n1"}), "No changes specified");
  EXPECT_EQ(error_of({"jobid=abc", "nice=1"}), "Invalid job id specified for job abc");
  EXPECT_EQ(error_of({"partition=short", "foo=down"}),
            "scontrol: error: Update of this parameter is not supported: foo=down\n\nscontrol: error: "
            "Request aborted\nslurm_update error: No error");
}

}  // namespace
}  // namespace minke::cli
