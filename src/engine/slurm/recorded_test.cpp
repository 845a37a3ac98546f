// Records of three releases of Slurm, 22.05, 24.11 and 26.05, which real ones have given (testdata/): the
// same jobs on the same machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "api/machine.pb.h"
#include "engine/slurm/json_fields.h"
#include "engine/slurm/json_jobs.h"
#include "engine/slurm/json_records.h"
#include "engine/slurm/queue_text.h"
#include "engine/slurm/show_lines.h"
#include "engine/slurm/shown_machine.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "text/duration.h"
#include "text/job_id.h"
#include "text/sacct_records.h"

namespace minke::engine::slurm {
namespace {

std::string recorded(const std::string& name) {
  std::ifstream file(std::string(MINKE_SOURCE_DIR) + "/src/engine/slurm/testdata/" + name);
  EXPECT_TRUE(file.is_open()) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The text in pieces of `size`.
NextBytes pieces(const std::string& text, size_t size) {
  return [&text, size, at = size_t{0}](char* buffer, size_t room) mutable -> Result<size_t> {
    const size_t count = std::min({size, room, text.size() - at});
    std::memcpy(buffer, text.data() + at, count);
    at += count;
    return count;
  };
}

std::map<uint32_t, model::JobRecord> jobs_of_json(const std::string& text, size_t size) {
  std::map<uint32_t, model::JobRecord> jobs;
  const Status read = read_json_records(pieces(text, size), "jobs", [&](const nlohmann::json& one) -> Status {
    model::JobRecord job = job_of(one);
    jobs[job.job_id()] = job;
    return {};
  });
  EXPECT_TRUE(read) << read.error().message;
  return jobs;
}

std::map<uint32_t, model::JobRecord> jobs_of_text(const std::string& text) {
  std::map<uint32_t, model::JobRecord> jobs;
  QueueText reader("\x1f", [&](model::JobRecord job) -> Status {
    jobs[job.job_id()] = job;
    return {};
  });
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_TRUE(reader.line(line));
  EXPECT_TRUE(reader.finish());
  return jobs;
}

std::map<uint32_t, model::JobRecord> jobs_of(const std::string& release) {
  if (release == "22.05") return jobs_of_text(recorded("22.05/queue.txt"));
  return jobs_of_json(recorded(release + "/squeue.json"), 4096);
}

std::vector<ShownRecord> shown(const std::string& name) {
  std::vector<ShownRecord> records;
  std::istringstream lines(recorded(name));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) records.emplace_back(line);
  }
  return records;
}

class RecordedSlurm : public testing::TestWithParam<const char*> {};

TEST_P(RecordedSlurm, TellsOfARunningJobWithAGpu) {
  const auto jobs = jobs_of(GetParam());
  ASSERT_TRUE(jobs.contains(1001));
  const model::JobRecord& job = jobs.at(1001);
  EXPECT_EQ(job.state(), model::JOB_RUNNING);
  EXPECT_EQ(job.spec().name(), "train");
  EXPECT_EQ(job.reason(), model::WAIT_NO_REASON);
  EXPECT_EQ(job.partition(), "main");
  EXPECT_EQ(job.qos(), "normal");
  EXPECT_EQ(job.num_cpus(), 2u);
  EXPECT_EQ(job.num_nodes(), 1u);
  EXPECT_EQ(job.memory_mib(), 1024u);
  EXPECT_EQ(job.time_limit_minutes(), 120u);
  EXPECT_EQ(job.node_list(), "n1");
  EXPECT_EQ(job.end_time() - job.start_time(), 2 * 3600);
  EXPECT_EQ(job.spec().mem_per_node_mib(), 1024u);
  ASSERT_EQ(job.tres_gres_size(), 1);
  EXPECT_EQ(job.tres_gres(0).name(), "gpu");
  ASSERT_EQ(job.spec().gres_per_node_size(), 1);
  EXPECT_EQ(job.spec().gres_per_node(0).count(), 1u);
  ASSERT_EQ(job.nodes_size(), 1);
  EXPECT_EQ(job.nodes(0).cpus(), 2u);
  EXPECT_EQ(job.nodes(0).memory_mib(), 1024u);
}

TEST_P(RecordedSlurm, TellsWhyAJobWaits) {
  const auto jobs = jobs_of(GetParam());
  const auto found = std::find_if(jobs.begin(), jobs.end(),
                                  [](const auto& one) { return one.second.spec().name() == "big"; });
  ASSERT_NE(found, jobs.end());
  const model::JobRecord& job = found->second;
  EXPECT_EQ(job.state(), model::JOB_PENDING);
  EXPECT_EQ(job.reason(), model::WAIT_RESOURCES);
  EXPECT_EQ(job.num_nodes(), 5u);
  EXPECT_EQ(job.spec().min_nodes(), 5u);
  EXPECT_EQ(job.node_list(), "");
  EXPECT_EQ(job.nodes_size(), 0);
}

TEST_P(RecordedSlurm, TellsOfTheTasksThatWait) {
  const auto jobs = jobs_of(GetParam());
  ASSERT_TRUE(jobs.contains(1003));
  const model::JobRecord& array = jobs.at(1003);
  EXPECT_EQ(array.array_job_id(), 1003u);
  EXPECT_FALSE(array.has_array_task_id());
  EXPECT_EQ(text::format_job_id(array), "1003_[2-5%1]");
  EXPECT_EQ(array.reason(), model::WAIT_ARRAY_TASK_LIMIT);
}

TEST_P(RecordedSlurm, TakesANameForANameWhateverItSays) {
  const auto jobs = jobs_of(GetParam());
  ASSERT_TRUE(jobs.contains(1002));
  EXPECT_EQ(jobs.at(1002).spec().name(), "odd | name JobState=X");
  EXPECT_EQ(jobs.at(1002).spec().comment(), "k=v \"q\"");
  EXPECT_EQ(jobs.at(1002).state(), model::JOB_RUNNING);
}

TEST_P(RecordedSlurm, TellsOfItsNodes) {
  std::map<std::string, model::NodeRecord> nodes;
  for (const ShownRecord& one : shown(std::string(GetParam()) + "/nodes.txt")) {
    model::NodeRecord node = node_of(one);
    nodes[node.name()] = node;
  }
  ASSERT_EQ(nodes.size(), 5u);
  const model::NodeRecord& n1 = nodes["n1"];
  EXPECT_EQ(n1.state(), model::NODE_IDLE);
  EXPECT_EQ(n1.cpus(), 4u);
  EXPECT_EQ(n1.allocated_cpus(), 4u);
  EXPECT_EQ(n1.memory_mib(), 4000u);
  EXPECT_EQ(n1.allocated_memory_mib(), 1536u);
  ASSERT_EQ(n1.gres_size(), 1);
  EXPECT_EQ(n1.gres(0).type(), "a100");
  EXPECT_EQ(n1.gres(0).count(), 2u);
  ASSERT_EQ(n1.allocated_gres_size(), 1);
  EXPECT_EQ(n1.allocated_gres(0).type(), "a100");
  EXPECT_EQ(n1.allocated_gres(0).count(), 1u);
  EXPECT_EQ(n1.features_size(), 2);
  EXPECT_EQ(n1.partitions_size(), 2);
  EXPECT_EQ(nodes["n4"].state(), model::NODE_DRAIN);
  EXPECT_EQ(nodes["n4"].reason(), "broken fan here");
  EXPECT_EQ(nodes["n5"].gres_size(), 0);
  EXPECT_EQ(nodes["n5"].cpus(), 8u);
  EXPECT_EQ(nodes["n5"].features_size(), 0);
}

TEST_P(RecordedSlurm, TellsOfItsPartitions) {
  const auto records = shown(std::string(GetParam()) + "/partitions.txt");
  ASSERT_EQ(records.size(), 2u);
  const model::PartitionRecord main = partition_of(records[0]), brief = partition_of(records[1]);
  EXPECT_TRUE(main.is_default());
  EXPECT_EQ(main.max_time_minutes(), text::kUnlimited);
  EXPECT_EQ(main.default_time_minutes(), 60u);
  EXPECT_EQ(main.max_nodes(), text::kUnlimited);
  EXPECT_EQ(main.default_mem_per_cpu_mib(), 256u);
  EXPECT_FALSE(main.has_max_mem_per_node_mib());
  EXPECT_EQ(main.total_memory_mib(), 24000u);
  EXPECT_TRUE(main.allow_accounts().empty());
  EXPECT_FALSE(main.exclusive());
  EXPECT_EQ(brief.name(), "short");
  EXPECT_FALSE(brief.is_default());
  EXPECT_EQ(brief.max_time_minutes(), 180u);
  EXPECT_EQ(brief.nodes(), "n[1-2]");
}

TEST_P(RecordedSlurm, TellsOfReservationsAndLicences) {
  const auto reservations = shown(std::string(GetParam()) + "/reservations.txt");
  ASSERT_EQ(reservations.size(), 1u);
  const model::ReservationRecord maintenance = reservation_of(reservations[0]);
  EXPECT_EQ(maintenance.name(), "maint");
  EXPECT_EQ(maintenance.end_time() - maintenance.start_time(), 3600);
  ASSERT_EQ(maintenance.shares_size(), 1);
  EXPECT_EQ(maintenance.shares(0).node(), "n5");
  EXPECT_EQ(maintenance.shares(0).cpus(), 0u);
  ASSERT_EQ(maintenance.users_size(), 1);
  EXPECT_EQ(maintenance.users(0), "root");
  const auto licenses = shown(std::string(GetParam()) + "/licenses.txt");
  ASSERT_EQ(licenses.size(), 1u);
  EXPECT_EQ(license_of(licenses[0]).name(), "matlab");
  EXPECT_EQ(license_of(licenses[0]).total(), 4u);
}

INSTANTIATE_TEST_SUITE_P(Releases, RecordedSlurm, testing::Values("22.05", "24.11", "26.05"));

TEST(RecordedText, ANameMayHaveTheEndOfALineInIt) {
  const auto jobs = jobs_of_text(recorded("22.05/queue.txt"));
  ASSERT_TRUE(jobs.contains(1012));
  EXPECT_EQ(jobs.at(1012).spec().name(), "new\nline");
  EXPECT_EQ(jobs.at(1012).reason(), model::WAIT_HELD_USER);
  EXPECT_TRUE(jobs.at(1012).spec().hold());
  EXPECT_EQ(jobs.at(1013).array_task_id(), 1u);
  ASSERT_EQ(jobs.at(1007).spec().dependencies_size(), 2);
  EXPECT_EQ(jobs.at(1007).spec().dependencies(0).type(), model::AFTER_OK);
}

TEST(RecordedText, AnAnswerThatEndsWithinAJobIsNone) {
  QueueText reader("\x1f", [](const model::JobRecord& /*job*/) -> Status { return {}; });
  EXPECT_TRUE(
      reader.line("1001\x1f"
                  "1001\x1fRUNNING"));
  EXPECT_FALSE(reader.finish());
}

TEST(RecordedAccounting, TakesJobsThatHaveNotEndedWhereTheyAreWanted) {
  text::SacctReader reader(text::SacctReader::Unfinished::kTake);
  std::istringstream lines(recorded("22.05/sacct.txt"));
  for (std::string line; std::getline(lines, line);) EXPECT_TRUE(reader.line(line));
  reader.finish();
  const auto jobs = reader.take();
  ASSERT_EQ(jobs.size(), 4u);
  EXPECT_EQ(jobs[0].job.state(), model::JOB_RUNNING);
  EXPECT_EQ(jobs[0].job.end_time(), 0);
  EXPECT_EQ(jobs[0].job.memory_mib(), 1024u);
  EXPECT_EQ(jobs[0].steps.size(), 1u);
  EXPECT_EQ(jobs[2].job.state(), model::JOB_PENDING);
  EXPECT_EQ(reader.unfinished(), 0u);
}

TEST(JsonRecords, AreReadInPiecesOfAnyLength) {
  const std::string text = recorded("26.05/squeue.json");
  const auto whole = jobs_of_json(text, text.size()), bit_by_bit = jobs_of_json(text, 1);
  ASSERT_EQ(whole.size(), bit_by_bit.size());
  for (const auto& [id, job] : whole)
    EXPECT_EQ(job.SerializeAsString(), bit_by_bit.at(id).SerializeAsString());
  EXPECT_EQ(whole.at(1001).nodes(0).gres(0).type(), "a100");
  EXPECT_EQ(whole.at(1001).nodes(0).gres(0).indices_size(), 1);
}

TEST(JsonRecords, SayWhatIsWrong) {
  const auto read = [](const std::string& text) {
    return read_json_records(pieces(text, 7), "jobs", [](const nlohmann::json&) -> Status { return {}; });
  };
  EXPECT_TRUE(read(R"({"jobs": [], "errors": [{"a": [1]}]})"));
  EXPECT_FALSE(read(""));
  EXPECT_FALSE(read(R"({"jobs": [{"job_id": 1})"));
  EXPECT_EQ(read(R"({"nodes": [{"jobs": []}]})").error().code, ENOENT);
  EXPECT_FALSE(read(R"({"jobs": [)" + std::string(100, '[') + std::string(100, ']') + "]}"));
  const Status stopped =
      read_json_records([](char*, size_t) -> Result<size_t> { return failure("no more", ETIMEDOUT); }, "jobs",
                        [](const nlohmann::json&) -> Status { return {}; });
  EXPECT_EQ(stopped.error().code, ETIMEDOUT);
}

TEST(JsonFields, BearTheShapesOfAllReleases) {
  const auto from = nlohmann::json::parse(R"({"plain": 5, "none": 4294967294, "null": null, "minus": -3,
    "set": {"set": true, "infinite": false, "number": 7}, "unset": {"set": false, "infinite": false, "number": 0},
    "endless": {"set": false, "infinite": true, "number": 0}, "word": "RUNNING", "words": ["RUNNING", "COMPLETING"],
    "real": 2.0, "exit": {"status": ["SIGNALED"], "return_code": {"set": true, "infinite": false, "number": 3},
    "signal": {"id": {"set": true, "infinite": false, "number": 9}, "name": "KILL"}}, "status": 768})");
  EXPECT_EQ(number(from, "plain"), 5u);
  EXPECT_EQ(number(from, "none"), std::nullopt);
  EXPECT_EQ(number(from, "null"), std::nullopt);
  EXPECT_EQ(number(from, "missing"), std::nullopt);
  EXPECT_EQ(number(from, "minus"), std::nullopt);
  EXPECT_EQ(signed_number(from, "minus"), -3);
  EXPECT_EQ(number(from, "set"), 7u);
  EXPECT_EQ(number(from, "unset"), std::nullopt);
  EXPECT_EQ(number(from, "endless"), text::kUnlimited);
  EXPECT_EQ(number(from, "real"), 2u);
  EXPECT_EQ(number(from, "word"), std::nullopt);
  EXPECT_EQ(words_of(from, "word"), std::vector<std::string>{"RUNNING"});
  EXPECT_EQ(words_of(from, "words").size(), 2u);
  EXPECT_EQ(wait_status(from, "exit"), 3 << 8 | 9);
  EXPECT_EQ(wait_status(from, "status"), 768);
}

TEST(ShownRecord, TakesTheFirstOfTwoAndNothingForNothing) {
  const ShownRecord one(
      "NodeName=n1 OS=Linux 6.1 #1 SMP  Gres=(null) Reason=fan State=DOWN x=y [root@1795420500]");
  EXPECT_EQ(one.text("OS"), "Linux 6.1 #1 SMP");
  EXPECT_EQ(one.text("Gres"), "");
  EXPECT_EQ(ShownRecord("State=IDLE Reason=fan State=DOWN").text("State"), "IDLE");
  EXPECT_EQ(node_of(ShownRecord("No nodes in the system")).name(), "");
}

TEST(ShownNode, IsDownWhereItDoesNotAnswer) {
  EXPECT_EQ(node_of(ShownRecord("NodeName=n State=IDLE*")).state(), model::NODE_DOWN);
  EXPECT_EQ(node_of(ShownRecord("NodeName=n State=IDLE+NOT_RESPONDING")).state(), model::NODE_DOWN);
  EXPECT_EQ(node_of(ShownRecord("NodeName=n State=DOWN*+DRAIN")).state(), model::NODE_DOWN_DRAIN);
  EXPECT_EQ(node_of(ShownRecord("NodeName=n State=ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP")).state(),
            model::NODE_IDLE);
  EXPECT_EQ(node_of(ShownRecord("NodeName=n State=MIXED+PLANNED")).state(), model::NODE_IDLE);
  EXPECT_EQ(node_of(ShownRecord("NodeName=n State=IDLE+CLOUD+POWERED_DOWN")).state(), model::NODE_IDLE);
}

TEST(QueueSource, AnUnknownReleaseIsReadAsText) {
  EXPECT_EQ(queue_source("22.05.8"), QueueSource::kTextOfOld);
  EXPECT_EQ(queue_source("23.02.0"), QueueSource::kJson);
  EXPECT_EQ(queue_source("26.05.5"), QueueSource::kJson);
  EXPECT_EQ(queue_source("26.05"), QueueSource::kJson);
  EXPECT_EQ(queue_source("24.11.0-0rc1"), QueueSource::kJson);
  for (const char* version : {"26.11.0", "27.05.1", "", "next", "26"})
    EXPECT_EQ(queue_source(version), QueueSource::kTextOfUnknown) << version;
}

}  // namespace
}  // namespace minke::engine::slurm
