#include "grow/carry/record_rows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/accounting.pb.h"
#include "grow/carry/database.h"
#include "model/nobody.h"

namespace minke::grow {
namespace {

SlurmNumbers numbers() {
  return {.tres = {{"cpu", 1},
                   {"mem", 2},
                   {"node", 4},
                   {"billing", 5},
                   {"fs/disk", 6},
                   {"pages", 8},
                   {"gres/gpu", 1001}},
          .associations = {{{"physics", "ann", ""}, 7}, {{"physics", "ann", "short"}, 8}},
          .qos = {{"normal", 1}}};
}

std::string value_of(const SqlRow& row, std::string_view column) {
  const auto found =
      std::find_if(row.begin(), row.end(), [&](const auto& one) { return one.first == column; });
  return found == row.end() ? "no such column" : found->second;
}

api::AccountedJob some_job() {
  api::AccountedJob job;
  model::JobRecord& record = *job.mutable_job();
  record.set_job_id(4711);
  record.set_user_name("ann");
  record.set_account("physics");
  record.set_qos("normal");
  record.set_partition("main");
  record.set_state(model::JOB_FAILED);
  record.set_exit_code(256);
  record.set_submit_time(1000);
  record.set_start_time(1100);
  record.set_end_time(1200);
  record.set_num_cpus(4);
  record.set_num_nodes(1);
  record.set_node_list("n1");
  record.mutable_spec()->set_name("it's \"mine\"; DROP TABLE x");
  record.set_cancelled_by_uid(model::kNobody);
  return job;
}

TEST(RecordRows, AJobIsARowOfItsTable) {
  const SqlRow row = job_row(some_job(), 1000, numbers(), 2000);
  EXPECT_EQ(value_of(row, "id_job"), "4711");
  EXPECT_EQ(value_of(row, "id_assoc"), "7");
  EXPECT_EQ(value_of(row, "id_qos"), "1");
  EXPECT_EQ(value_of(row, "state"), "5");
  EXPECT_EQ(value_of(row, "exit_code"), "256");
  EXPECT_EQ(value_of(row, "id_array_task"), "4294967294");
  EXPECT_EQ(value_of(row, "kill_requid"), "NULL");
  EXPECT_EQ(value_of(row, "tres_alloc"), sql_text("1=4,4=1,5=4"));
}

TEST(RecordRows, TextsOfUsersCannotEndAStatement) {
  const std::string name = value_of(job_row(some_job(), 1000, numbers(), 2000), "job_name");
  EXPECT_EQ(name.find('"'), std::string::npos);
  EXPECT_EQ(name.find("DROP"), std::string::npos);
  EXPECT_EQ(sql_text(""), "''");
  EXPECT_EQ(sql_text("a\xff"), "_utf8mb4 X'613f'");
  EXPECT_EQ(sql_name("a`b"), "");
  EXPECT_EQ(sql_name("ref_job_table"), "`ref_job_table`");
}

TEST(RecordRows, AnAssociationOfThePartitionComesFirst) {
  EXPECT_EQ(numbers().association_of("physics", "ann", "short"), 8u);
  EXPECT_EQ(numbers().association_of("physics", "ann", "main"), 7u);
  EXPECT_EQ(numbers().association_of("physics", "ben", "main"), 0u);
}

TEST(RecordRows, EachRunOfAJobHasASubmissionOfItsOwn) {
  EXPECT_EQ(submission_of(some_job(), 0, 0), 1000);
  EXPECT_EQ(submission_of(some_job(), 1000, 1150), 1150);
  EXPECT_EQ(submission_of(some_job(), 1000, 1000), 1001);
  EXPECT_EQ(submission_of(some_job(), 900, 950), 1000);
}

TEST(RecordRows, AStepHasWhatItsTasksUsed) {
  model::StepRecord step;
  step.set_kind(model::STEP_BATCH);
  step.set_num_tasks(1);
  step.set_num_nodes(1);
  step.set_node_list("n1");
  step.mutable_usage()->set_user_microseconds(2'500'000);
  step.mutable_usage()->set_max_rss_kib(2);
  const SqlRow row = step_row(step, numbers());
  EXPECT_EQ(value_of(row, "id_step"), "-5");
  EXPECT_EQ(value_of(row, "user_sec"), "2");
  EXPECT_EQ(value_of(row, "user_usec"), "500000");
  EXPECT_EQ(value_of(row, "tres_usage_in_max"), sql_text("1=2500,2=2048,6=0,8=0"));
}

TEST(RecordRows, ValuesOfAConfigurationAreFound) {
  const std::string text = "StorageHost=db # the data base\n#StoragePass=no\nstoragepass = \"a b\"\n";
  EXPECT_EQ(value_in_configuration(text, "StorageHost"), "db");
  EXPECT_EQ(value_in_configuration(text, "StoragePass"), "a b");
  EXPECT_EQ(value_in_configuration(text, "StorageUser"), "");
}

}  // namespace
}  // namespace minke::grow
