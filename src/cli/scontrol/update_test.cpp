#include "cli/scontrol/update.h"

#include <gtest/gtest.h>

#include "api/field.pb.h"

namespace minke::cli {
namespace {

std::string error_of(std::vector<std::string> words) {
  auto result = parse_update(words);
  return result ? std::string() : result.error().message;
}

std::string fields_of(const google::protobuf::RepeatedPtrField<api::Field>& fields) {
  std::string out;
  for (const api::Field& field : fields) out += field.name() + "=" + field.value() + ";";
  return out;
}

const api::UpdateJobRequest& job_update(const Result<UpdateRequests>& parsed, size_t number) {
  return std::get<api::UpdateJobRequest>(parsed->updates[number]);
}

TEST(ScontrolUpdate, JobsWithFullNamesForShortOnes) {
  auto result = parse_update({"JobId=49", "timelim=7", "NAME=x,y", "Partition=short"});
  ASSERT_TRUE(result);
  ASSERT_EQ(result->updates.size(), 1u);
  EXPECT_EQ(job_update(result, 0).job().job_id(), 49u);
  EXPECT_EQ(fields_of(job_update(result, 0).fields()), "TimeLimit=7;Name=x,y;Partition=short;");
}

TEST(ScontrolUpdate, NamesAndValuesMayBeWordsOfTheirOwn) {
  auto result = parse_update({"job", "49", "timelimit", "7"});
  ASSERT_TRUE(result);
  EXPECT_EQ(fields_of(job_update(result, 0).fields()), "TimeLimit=7;");
}

TEST(ScontrolUpdate, SignsBeforeTheEqualsSignGoToTheValue) {
  auto result = parse_update({"jobid=49", "TimeLimit+=30"});
  ASSERT_TRUE(result);
  EXPECT_EQ(fields_of(job_update(result, 0).fields()), "TimeLimit=+30;");
}

TEST(ScontrolUpdate, ListsOfJobsAreRequestsOfTheirOwn) {
  auto result = parse_update({"jobid=49,50_[1-3]", "nice=5"});
  ASSERT_TRUE(result);
  ASSERT_EQ(result->updates.size(), 2u);
  EXPECT_EQ(job_update(result, 1).job().job_id(), 50u);
  EXPECT_EQ(job_update(result, 1).job().tasks(0).last(), 3u);
  EXPECT_EQ(result->names, (std::vector<std::string>{"49", "50_[1-3]"}));
}

TEST(ScontrolUpdate, JobNameChoosesWhereNoIdDoes) {
  auto by_name = parse_update({"jobname=train", "nice=5"});
  ASSERT_TRUE(by_name);
  EXPECT_EQ(job_update(by_name, 0).name(), "train");
  auto by_id = parse_update({"jobname=train", "jobid=49"});
  ASSERT_TRUE(by_id);
  EXPECT_EQ(fields_of(job_update(by_id, 0).fields()), "JobName=train;");
}

TEST(ScontrolUpdate, NodesAndPartitions) {
  auto node = parse_update({"nodename=n[1-3]", "state=drain", "reason=bad disk"});
  ASSERT_TRUE(node);
  EXPECT_EQ(std::get<api::UpdateNodeRequest>(node->updates[0]).node_list(), "n[1-3]");
  EXPECT_EQ(fields_of(std::get<api::UpdateNodeRequest>(node->updates[0]).fields()),
            "State=drain;Reason=bad disk;");
  auto partition = parse_update({"partition=short", "state=down"});
  ASSERT_TRUE(partition);
  EXPECT_EQ(std::get<api::UpdatePartitionRequest>(partition->updates[0]).name(), "short");
}

TEST(ScontrolUpdate, SaysWhatIsWrongAsSlurmDoes) {
  EXPECT_EQ(error_of({}), "too few arguments for update keyword");
  EXPECT_EQ(error_of({"foo=bar"}),
            "No valid entity in update command\n"
            "Input line must include \"NodeName\", \"PartitionName\", \"Reservation\", \"JobId\", or "
            "\"SlurmctldDebug\"");
  EXPECT_EQ(error_of({"jobid=49", "foo=1"}),
            "Update of this parameter is not supported: foo=1\nRequest aborted");
  EXPECT_EQ(error_of({"jobid=49"}), "No changes specified (write what is to change: timelimit=2:00:00)");
  EXPECT_EQ(error_of({"nodename=n1"}), "No changes specified (write what is to change: timelimit=2:00:00)");
  EXPECT_EQ(error_of({"jobid=abc", "nice=1"}), "Invalid job id specified for job abc");
  EXPECT_EQ(error_of({"partition=short", "foo=down"}),
            "scontrol: error: Update of this parameter is not supported: foo=down\n\nscontrol: error: "
            "Request aborted");
}

}  // namespace
}  // namespace minke::cli
