#include "grow/carry/job_document.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "grow/carry/rest_submission.h"
#include "grow/carry/waiting_jobs.h"

namespace minke::grow {
namespace {

using namespace std::string_literals;

WaitingJob some_job() {
  WaitingJob job;
  job.id = 4711;
  job.record.set_uid(2001);
  job.record.set_gid(2002);
  job.record.set_time_limit_minutes(30);
  model::JobSpec& spec = *job.record.mutable_spec();
  spec.set_name("fold");
  spec.set_work_dir("/home/ann");
  spec.set_ntasks(4);
  spec.set_cpus_per_task(2);
  spec.set_mem_per_cpu_mib(300);
  model::Gres& gpus = *spec.add_gres_per_node();
  gpus.set_name("gpu");
  gpus.set_type("a100");
  gpus.set_count(2);
  return job;
}

TEST(JobDocument, HasTheJobsOwnNumberAndUser) {
  std::vector<std::string> remarks;
  const auto document = job_document(some_job(), "#!/bin/sh\n", "", remarks);
  EXPECT_EQ(document["job_id"], 4711);
  EXPECT_EQ(document["user_id"], "2001");
  EXPECT_EQ(document["group_id"], "2002");
  EXPECT_EQ(document["script"], "#!/bin/sh\n");
  EXPECT_EQ(document["minimum_cpus"], 8);
  EXPECT_EQ(document["tres_per_node"], "gres/gpu:a100:2");
  EXPECT_EQ(document["time_limit"]["number"], 30);
  EXPECT_TRUE(remarks.empty());
}

TEST(JobDocument, TheEnvironmentIsWhatSbatchWouldHaveSent) {
  std::vector<std::string> remarks;
  const auto document =
      job_document(some_job(), "", "A=1\0SLURM_NTASKS=9\0MINKE_HOME=/x\0B=\xff\0"s, remarks);
  const std::string all = document["environment"].dump();
  EXPECT_NE(all.find("\"A=1\""), std::string::npos);
  EXPECT_NE(all.find("\"SLURM_NTASKS=4\""), std::string::npos);
  EXPECT_EQ(all.find("SLURM_NTASKS=9"), std::string::npos);
  EXPECT_EQ(all.find("MINKE_HOME"), std::string::npos);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0], "its variable B is left out: it is no UTF-8");
}

TEST(JobDocument, TheAnswerSaysTheNumberOrWhyNot) {
  const auto number =
      submitted_number("HTTP/1.1 200 OK\r\n\r\n{\"job_id\": 77, \"errors\": []}Connection: Close\r\n");
  ASSERT_TRUE(number) << number.error().message;
  EXPECT_EQ(*number, 77u);
  const auto refused = submitted_number(
      "HTTP/1.1 500\r\n\r\n{\"errors\": [{\"error\": \"Duplicate job id\", \"error_number\": 2011, "
      "\"description\": \"x\"}]}");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 2011);
  EXPECT_EQ(refused.error().message, "Duplicate job id (x)");
  EXPECT_FALSE(submitted_number("Authentication failure"));
  EXPECT_FALSE(submitted_number("{}"));
}

}  // namespace
}  // namespace minke::grow
