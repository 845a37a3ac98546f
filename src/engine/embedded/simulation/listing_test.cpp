// Lists that are made in pieces: each record comes once, in messages of some hundred records.
#include "engine/embedded/answers/listing_in_pieces.h"

#include <random>
#include <set>
#include <vector>

#include "api/accounting.pb.h"
#include "api/explanation.pb.h"
#include "api/job_filter.pb.h"
#include "api/machine.pb.h"
#include "api/priorities.pb.h"
#include "api/step_usage.pb.h"
#include "api/steps.pb.h"
#include "engine/embedded/answers/job_walk.h"
#include "engine/embedded/simulation/request_test.h"
#include "engine/embedded/state/job_matcher.h"
#include "model/cluster.pb.h"
#include "model/error.h"
#include "model/step_record.pb.h"
#include "rpc/envelope.h"

namespace minke::engine::simulation {
namespace {

using namespace model;

constexpr int kMany = 1200;
constexpr int kMost = ListingInPieces::kRecordsPerPart + 50;  // a job's steps come together

class Listing : public RequestTest {
 protected:
  // Of messages that are put together as a client does it.
  rpc::AnswerEnvelope merged(const rpc::RequestEnvelope& message, uint32_t uid = kRoot) {
    parts_ = ask_all(uid, message);
    rpc::AnswerEnvelope all;
    for (size_t i = 0; i < parts_.size(); ++i) {
      EXPECT_EQ(rpc::is_last(parts_[i].message()), i + 1 == parts_.size());
      rpc::merge_answer(all.message(), std::move(rpc::AnswerEnvelope(parts_[i]).message()));
    }
    return all;
  }
  // The machine is busy: what is submitted now waits for its turn.
  void occupy() {
    const uint32_t job = submit(kRoot, [](JobSpec& spec) {
      spec.set_exclusive(true);
      spec.set_min_nodes(3);
      spec.set_max_nodes(3);
    });
    ASSERT_EQ(state(job), JOB_RUNNING);
  }
  void run_steps(uint32_t job, int count) {
    for (int i = 0; i < count; ++i) {
      rpc::RequestEnvelope message;
      api::CreateStepRequest& request = message.body<api::CreateStepRequest>();
      std::string key = std::to_string(i);
      key.resize(16, '.');
      request.set_key(key);
      request.set_job_id(job);
      request.mutable_spec()->set_name("step");
      request.mutable_spec()->add_argv("true");
      request.mutable_spec()->set_work_dir("/tmp");
      request.mutable_spec()->set_ntasks(1);
      request.mutable_spec()->set_overlap(true);
      ASSERT_TRUE(ask(self(), message).read<api::StepEvent>().has_started());
    }
  }

  std::vector<rpc::AnswerEnvelope> parts_;
};

TEST_F(Listing, PrioritiesOfAllThatWaitAreShownOnce) {
  start("", "[priority]\ntype = \"multifactor\"\n");
  occupy();
  for (int i = 0; i < kMany; ++i) ASSERT_NE(submit(kAlice), 0u);
  rpc::RequestEnvelope message;
  message.body<api::QueryPrioritiesRequest>();
  const rpc::AnswerEnvelope all = merged(message);
  std::set<uint32_t> jobs;
  for (const api::JobPriority& job : all.read<api::PrioritiesReply>().jobs()) jobs.insert(job.job_id());
  EXPECT_EQ(jobs.size(), size_t{kMany});
  EXPECT_EQ(all.read<api::PrioritiesReply>().jobs_size(), kMany);
  EXPECT_TRUE(all.read<api::PrioritiesReply>().multifactor());
  ASSERT_GE(parts_.size(), 3u);
  for (const rpc::AnswerEnvelope& part : parts_)
    EXPECT_LE(part.read<api::PrioritiesReply>().jobs_size(), kMost);
  EXPECT_TRUE(parts_[0].read<api::PrioritiesReply>().has_weights());
  EXPECT_FALSE(parts_[1].read<api::PrioritiesReply>().has_weights());  // or a reader would have them twice
}

TEST_F(Listing, PrioritiesAreOfThoseWhoWaitForTheirTurnAndOfThatPartition) {
  occupy();
  submit(kAlice, [](JobSpec& spec) { spec.set_hold(true); });
  submit(kAlice, [](JobSpec& spec) { spec.set_begin_time(int64_t{1} << 40); });
  const uint32_t there = submit(kBob, [](JobSpec& spec) {
    spec.set_partition("main,short");
    spec.set_time_limit_minutes(10);
  });
  rpc::RequestEnvelope message;
  message.body<api::QueryPrioritiesRequest>();
  const rpc::AnswerEnvelope all = merged(message);
  ASSERT_EQ(all.read<api::PrioritiesReply>().jobs_size(), 2);
  EXPECT_EQ(all.read<api::PrioritiesReply>().jobs(0).job_id(), there);
  EXPECT_EQ(all.read<api::PrioritiesReply>().jobs(0).partition(), "main");
  EXPECT_EQ(all.read<api::PrioritiesReply>().jobs(1).partition(), "short");
  EXPECT_EQ(all.read<api::PrioritiesReply>().jobs(1).uid(), kBob);
}

TEST_F(Listing, StepsOfOneJobAreDealtOut) {
  const uint32_t job = submit(self());
  ASSERT_EQ(state(job), JOB_RUNNING);
  run_steps(job, kMany);
  rpc::RequestEnvelope message;
  message.body<api::QueryStepsRequest>();
  const rpc::AnswerEnvelope all = merged(message);
  ASSERT_EQ(all.read<api::StepsReply>().steps_size(), kMany + 1);
  EXPECT_EQ(all.read<api::StepsReply>().steps(0).kind(), STEP_BATCH);
  for (int i = 0; i < kMany; ++i)
    EXPECT_EQ(all.read<api::StepsReply>().steps(i + 1).step_id(), static_cast<uint32_t>(i));
  ASSERT_GE(parts_.size(), 3u);
  for (const rpc::AnswerEnvelope& part : parts_) EXPECT_LE(part.read<api::StepsReply>().steps_size(), kMost);

  rpc::RequestEnvelope usage;
  usage.body<api::QueryStepUsageRequest>();
  EXPECT_EQ(merged(usage).read<api::StepUsageReply>().steps_size(), kMany + 1);
  EXPECT_GE(parts_.size(), 3u);
}

TEST_F(Listing, StepsAreOfTheJobsThatAreNamed) {
  const uint32_t first = submit(self()), second = submit(kAlice),
                 waiting = submit(kAlice, [](JobSpec&spec) { spec.set_hold(true); });
  run_steps(first, 3);
  rpc::RequestEnvelope message;
  message.body<api::QueryStepsRequest>().mutable_filter()->add_jobs()->set_job_id(second);
  message.body<api::QueryStepsRequest>().mutable_filter()->add_jobs()->set_job_id(waiting);
  const rpc::AnswerEnvelope all = merged(message);
  ASSERT_EQ(all.read<api::StepsReply>().steps_size(), 1);
  EXPECT_EQ(all.read<api::StepsReply>().steps(0).job_id(), second);
}

TEST_F(Listing, AWalkToNamedJobsMissesNone) {
  std::mt19937 random(7);
  const auto below = [&](uint32_t end) { return static_cast<uint32_t>(random() % end); };
  for (int i = 0; i < 20; ++i) {
    submit(kAlice);
    submit(kBob, [](JobSpec& spec) { spec.mutable_array()->add_ranges()->set_last(5); });
    rpc::RequestEnvelope message = submission();
    api::SubmitRequest& request = message.body<api::SubmitRequest>();
    for (int component = 0; component < 2; ++component)
      *request.add_het_components() = model::JobSpec(request.spec());
    ask(kAlice, message);
  }
  const State& jobs = core().state;
  std::vector<uint32_t> ids;
  for (const auto& [id, job] : jobs.jobs()) ids.push_back(id);
  ASSERT_GT(ids.size(), 60u);
  for (size_t i = 3; i < ids.size(); i += 7) ask(kRoot, cancel(ids[i]));
  for (int round = 0; round < 300; ++round) {
    api::JobFilter filter;
    for (uint32_t named = below(8) + 1; named > 0; --named) {
      api::JobSelector& selector = *filter.add_jobs();
      selector.set_job_id(ids[below(static_cast<uint32_t>(ids.size()))] + (below(20) == 0 ? 1000000 : 0));
      if (below(4) == 0) selector.add_tasks()->set_last(below(6));
      if (below(4) == 0) selector.set_het_offset(below(3));
    }
    const JobMatcher matcher(filter, {});
    std::vector<uint32_t> all, found;
    for (const auto& [id, job] : jobs.jobs())
      if (matcher.touches(*job)) all.push_back(id);
    JobWalk walk(jobs, filter);
    for (walk.begin_piece(); walk.job() != nullptr;) {
      if (matcher.touches(*walk.job())) found.push_back(walk.job()->id);
      walk.advance();
      if (below(3) == 0) walk.begin_piece();
    }
    EXPECT_EQ(found, all) << filter.ShortDebugString();
  }
}

TEST_F(Listing, NodesShowWhatTheirJobsHold) {
  const uint32_t running = submit(kAlice, [](JobSpec& spec) {
    spec.set_min_nodes(1);
    spec.set_max_nodes(1);
    spec.set_ntasks(3);
    spec.set_mem_per_node_mib(1000);
    spec.set_node_list("n1");
    Gres& gpus = *spec.add_gres_per_node();
    gpus.set_name("gpu");
    gpus.set_count(1);
  });
  submit(kAlice, [](JobSpec& spec) { spec.set_hold(true); });
  ASSERT_EQ(state(running), JOB_RUNNING);
  rpc::RequestEnvelope message;
  message.body<api::QueryNodesRequest>();
  rpc::AnswerEnvelope all = merged(message);
  ASSERT_EQ(all.read<api::NodesReply>().nodes_size(), 3);
  const NodeRecord& first = all.read<api::NodesReply>().nodes(0);
  EXPECT_EQ(first.name(), "n1");
  EXPECT_EQ(first.allocated_cpus(), 3u);
  EXPECT_EQ(first.allocated_memory_mib(), 1000u);
  EXPECT_EQ(first.running_jobs(), 1u);
  ASSERT_EQ(first.held_gres_size(), 1);
  EXPECT_EQ(first.held_gres(0).indices_size(), 1);
  ASSERT_EQ(first.partitions_size(), 2);
  EXPECT_EQ(first.partitions(0), "main");
  EXPECT_EQ(first.partitions(1), "short");
  EXPECT_EQ(all.read<api::NodesReply>().nodes(1).partitions_size(), 1);
  EXPECT_EQ(all.read<api::NodesReply>().nodes(1).allocated_cpus(), 0u);

  engine().end_one(0, 0);
  all = merged(message);
  EXPECT_EQ(all.read<api::NodesReply>().nodes(0).allocated_cpus(), 0u);
  EXPECT_EQ(all.read<api::NodesReply>().nodes(0).held_gres_size(), 0);
}

TEST_F(Listing, ManyNodesAndPartitionsAreDealtOut) {
  std::string tables = "[[node]]\nname = \"m[1-1200]\"\ncpus = 1\nmemory = \"100M\"\n";
  for (int i = 0; i < 600; ++i) {
    const std::string name = "p" + std::to_string(i);
    tables += "[[partition]]\nname = \"" + name + "\"\nnodes = \"m[1-3]\"\n";
  }
  start("", tables);
  rpc::RequestEnvelope nodes, partitions;
  nodes.body<api::QueryNodesRequest>();
  partitions.body<api::QueryPartitionsRequest>();
  rpc::AnswerEnvelope all = merged(nodes);
  EXPECT_EQ(all.read<api::NodesReply>().nodes_size(), 1203);
  EXPECT_GE(parts_.size(), 3u);
  std::set<std::string> names;
  for (const NodeRecord& node : all.read<api::NodesReply>().nodes()) names.insert(node.name());
  EXPECT_EQ(names.size(), 1203u);
  all = merged(partitions);
  EXPECT_EQ(all.read<api::PartitionsReply>().partitions_size(), 602);
  EXPECT_GE(parts_.size(), 2u);
}

TEST_F(Listing, PartitionsShowWhatTheirNodesHave) {
  rpc::RequestEnvelope message;
  message.body<api::QueryPartitionsRequest>();
  const rpc::AnswerEnvelope all = merged(message);
  ASSERT_EQ(all.read<api::PartitionsReply>().partitions_size(), 2);
  const PartitionRecord& main = all.read<api::PartitionsReply>().partitions(0);
  EXPECT_EQ(main.total_nodes(), 3u);
  EXPECT_EQ(main.total_cpus(), 12u);
  EXPECT_EQ(main.total_memory_mib(), 12000u);
  ASSERT_EQ(main.total_gres_size(), 1);
  EXPECT_EQ(main.total_gres(0).count(), 6u);
  EXPECT_EQ(all.read<api::PartitionsReply>().partitions(1).total_nodes(), 1u);
}

}  // namespace
}  // namespace minke::engine::simulation
