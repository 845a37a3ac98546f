// A sched::World built from nothing but the records that clients get agrees with the engine about every job:
// when and where it starts, why it waits, and how many jobs are before it.
//
// Uses random clusters at random moments without limits of accounts, which records do not show.
// MINKE_WORLD_SEED=N runs only that seed.
#include "api/field.pb.h"
#include "sched/world.h"

#include <cstdlib>

#include "api/actions.pb.h"
#include "api/explanation.pb.h"
#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "api/machine.pb.h"
#include "api/submission.pb.h"
#include "api/updates.pb.h"
#include "engine/embedded/simulation/request_test.h"
#include "rpc/envelope.h"
#include "sched/test_cluster.h"
#include "text/hostlist.h"
#include "text/state.h"

namespace minke::engine::simulation {
namespace {

using namespace model;
using sched::testing::Random;

constexpr std::string_view kSettings = "min_job_age = 1000000\n";
constexpr std::string_view kTables =
    "[[node]]\nname = \"m[1-4]\"\ncpus = 8\nsockets = 2\nmemory = \"8000M\"\nweight = 3\nfeatures = "
    "[\"fast\"]\n"
    "[[partition]]\nname = \"wide\"\nnodes = \"n[1-3],m[1-4]\"\ndefault_mem_per_cpu = \"500M\"\n"
    "[[partition]]\nname = \"urgent\"\nnodes = \"n3,m[1-2]\"\npriority_tier = 5\nmax_time = \"4:00:00\"\n"
    "[[partition]]\nname = \"whole\"\nnodes = \"m[2-4]\"\nexclusive = true\n"
    "[[partition]]\nname = \"mine\"\nnodes = \"m[3-4]\"\nexclusive_user = true\nmax_cpus_per_node = 6\n"
    "[licenses]\nmatlab = 3\n";

class WorldFromRecords : public RequestTest, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    start(kSettings, kTables);
    engine().pass(1);
  }

  rpc::AnswerEnvelope all_of(const rpc::RequestEnvelope& message) {
    rpc::AnswerEnvelope all;
    for (rpc::AnswerEnvelope& part : ask_all(kRoot, message))
      rpc::merge_answer(all.message(), std::move(part.message()));
    return all;
  }

  sched::WorldRecords records() {
    sched::WorldRecords records;
    rpc::RequestEnvelope message;
    message.body<api::QueryJobsRequest>().mutable_filter()->set_all_states(true);
    const auto jobs = all_of(message).read<api::JobsReply>();
    now_ = jobs.now();
    records.jobs.assign(jobs.jobs().begin(), jobs.jobs().end());
    message.body<api::QueryNodesRequest>();
    const auto nodes = all_of(message).read<api::NodesReply>();
    records.nodes.assign(nodes.nodes().begin(), nodes.nodes().end());
    message.body<api::QueryPartitionsRequest>();
    const auto partitions = all_of(message).read<api::PartitionsReply>();
    records.partitions.assign(partitions.partitions().begin(), partitions.partitions().end());
    message.body<api::QueryReservationsRequest>();
    const auto reservations = all_of(message).read<api::ReservationsReply>();
    records.reservations.assign(reservations.reservations().begin(), reservations.reservations().end());
    message.body<api::QueryLicensesRequest>();
    const auto licenses = all_of(message).read<api::LicensesReply>();
    for (const api::License& license : licenses.licenses())
      records.licenses.push_back({license.name(), license.total(), license.used()});
    return records;
  }

  sched::World world() {
    auto records = this->records();
    auto world = sched::World::build(std::move(records), now_);
    EXPECT_TRUE(world) << world.error().message;
    return std::move(*world);
  }

  api::ExplainJobReply explain(uint32_t job_id) {
    rpc::RequestEnvelope message;
    message.body<api::ExplainJobRequest>().mutable_job()->set_job_id(job_id);
    return ask(kRoot, message).read<api::ExplainJobReply>();
  }

  // Every job that waits or runs. The result: of how many that wait a start is known.
  uint32_t compare(const std::string& when) {
    const sched::World world = this->world();
    const sched::WaitReasons reasons = world.wait_reasons();
    uint32_t forecasts = 0;
    for (const JobRecord& record : records().jobs) {
      if (record.state() >= JOB_COMPLETE && !record.completing()) continue;
      const api::ExplainJobReply reply = explain(record.job_id());
      const std::string of = when + ", job " + std::to_string(record.job_id()) + ": " +
                             std::string(text::state_reason_name(record.reason())) + " in " +
                             record.spec().partition();
      if (record.state() != JOB_PENDING) {
        const auto end = world.end_of(record.job_id());
        EXPECT_EQ(end ? end->expected : -1, reply.end_time()) << of;
        continue;
      }
      compare_waiting(world, reasons, record.job_id(), reply, of);
      forecasts += reply.start_time() != 0 ? 1 : 0;
    }
    return forecasts;
  }

  void compare_waiting(const sched::World& world, const sched::WaitReasons& reasons, uint32_t job_id,
                       const api::ExplainJobReply& reply, const std::string& of) {
    using Trust = sched::World::Trust;
    const auto expected = world.start_of(job_id);
    EXPECT_EQ(expected && !expected->after_unlimited ? std::max(now_, expected->start) : 0,
              reply.start_time())
        << of;
    EXPECT_EQ(expected && expected->after_unlimited, reply.after_unlimited()) << of;
    EXPECT_EQ(text::state_reason_name(world.reason_of(reasons, job_id)),
              text::state_reason_name(reply.job().reason()))
        << of;
    if (reply.ahead() != 0) {
      EXPECT_EQ(world.jobs_before(job_id).size(), reply.ahead()) << of;
    }
    if (reply.start_time() == 0) return;
    std::vector<std::string> nodes;
    for (const auto& share : expected->placement.nodes)
      nodes.push_back(world.machine().layout().nodes()[share.node].name);
    EXPECT_EQ(text::compress_hostlist_sorted(nodes), reply.start_nodes()) << of;
    const auto by_limits = world.start_of(job_id, Trust::kLimits);
    EXPECT_EQ(by_limits && !by_limits->after_unlimited ? std::max(now_, by_limits->start) : 0,
              reply.start_by_limits())
        << of;
  }

  void draw_size(Random& random, JobSpec& spec) {
    switch (random.up_to(4)) {
      case 0:
        spec.set_min_nodes(random.between(1, 3));
        spec.set_max_nodes(spec.min_nodes() + random.up_to(1));
        break;
      case 1:
        spec.set_ntasks(random.between(1, 10));
        if (random.one_in(3)) spec.set_cpus_per_task(2);
        break;
      case 2:
        spec.set_cpus_per_task(random.between(1, 4));
        break;
      case 3:
        spec.set_min_nodes(random.between(1, 2));
        spec.set_exclusive(true);
        break;
      default: {
        Gres& gpus = *spec.add_gres_per_node();
        gpus.set_name("gpu");
        gpus.set_count(random.between(1, 2));
      }
    }
    if (random.one_in(4)) spec.set_mem_per_node_mib(500 * random.between(1, 8));
  }

  void draw(Random& random, JobSpec& spec) {
    static const std::vector<std::string> partitions = {
        "", "", "main", "wide", "wide", "mine", "urgent", "main,wide", "wide,urgent", "whole"};
    spec.set_partition(partitions[random.up_to(static_cast<uint32_t>(partitions.size() - 1))]);
    spec.set_time_limit_minutes(random.one_in(25) ? kUnlimited : 45 + 15 * random.up_to(8));
    draw_size(random, spec);
    if (random.one_in(8)) spec.set_priority(random.between(4294900000, 4294910000));
    if (random.one_in(10)) spec.set_nice(static_cast<int32_t>(random.up_to(20)));
    if (random.one_in(10)) spec.set_begin_time(now_ + 600 * random.between(1, 12));
    if (random.one_in(15)) spec.set_hold(true);
    if (random.one_in(8)) spec.set_licenses(random.one_in(2) ? "matlab" : "matlab:2");
    if (random.one_in(12)) spec.set_constraint("fast");
    if (random.one_in(15)) spec.set_node_list("m[1-2]");
    if (random.one_in(15)) spec.set_exclude("n1,m4");
    if (random.one_in(12)) spec.set_time_min_minutes(30);
    if (random.one_in(5)) {
      IndexRange& range = *spec.mutable_array()->add_ranges();
      range.set_first(1);
      range.set_last(random.between(2, 8));
      if (random.one_in(2)) spec.mutable_array()->set_max_running(random.between(1, 2));
    }
    if (!jobs_.empty() && random.one_in(6)) {
      Dependency& term = *spec.add_dependencies();
      term.set_type(static_cast<DependencyType>(random.up_to(3)));
      term.set_job_id(jobs_[random.up_to(static_cast<uint32_t>(jobs_.size() - 1))]);
      if (term.type() == AFTER) term.set_delay_minutes(random.up_to(30));
    }
    if (random.one_in(25)) spec.set_reservation("kept");
  }

  void submit_one(Random& random) {
    rpc::RequestEnvelope message = submission([&](JobSpec& spec) { draw(random, spec); });
    api::SubmitRequest& request = message.body<api::SubmitRequest>();
    if (random.one_in(12) && !request.spec().has_array()) {
      JobSpec spec = request.spec();
      spec.set_ntasks(2);
      spec.set_exclusive(false);
      spec.clear_min_nodes();
      spec.clear_max_nodes();
      spec.clear_gres_per_node();
      for (int i = 0; i < 2; ++i) *request.add_het_components() = spec;
    }
    const uint32_t uid = random.one_in(3) ? kBob : kAlice;
    if (const uint32_t job = ask(uid, message).read<api::SubmitReply>().job_id()) jobs_.push_back(job);
  }

  void act(Random& random) {
    const uint32_t job = jobs_[random.up_to(static_cast<uint32_t>(jobs_.size() - 1))];
    rpc::RequestEnvelope message;
    switch (random.up_to(4)) {
      case 0:
        message.body<api::SuspendRequest>().add_jobs()->set_job_id(job);
        message.body<api::SuspendRequest>().set_resume(random.one_in(2));
        break;
      case 1:
        message = update(job, "TimeLimit", std::to_string(60 + 30 * random.up_to(4)));
        break;
      case 2:
        message.body<api::UpdateNodeRequest>().set_node_list(random.one_in(2) ? "n2" : "m[3-4]");
        add(*message.body<api::UpdateNodeRequest>().mutable_fields(), "State",
            random.one_in(2) ? "DRAIN" : "RESUME");
        add(*message.body<api::UpdateNodeRequest>().mutable_fields(), "Reason", "a fan is broken");
        break;
      case 3:
        // In records the order of ends within a second is not told: none ends here but those that wait.
        if (shown(job).state() != JOB_PENDING || shown(job).array_job_id() != 0) return;
        message = cancel(job);
        break;
      default:
        message.body<api::HoldRequest>().add_jobs()->set_job_id(job);
        message.body<api::HoldRequest>().set_kind(random.one_in(2) ? api::HoldRequest::RELEASE
                                                                   : api::HoldRequest::HOLD);
    }
    ask(kRoot, message);
  }

  void reserve() {
    rpc::RequestEnvelope message;
    api::UpdateReservationRequest& request = message.body<api::UpdateReservationRequest>();
    request.set_change(api::CREATE);
    request.set_name("kept");
    add(*request.mutable_fields(), "Nodes", "m[1-2]");
    add(*request.mutable_fields(), "StartTime", "now+2hours");
    add(*request.mutable_fields(), "Duration", "60");
    add(*request.mutable_fields(), "Users", "root");
    add(*request.mutable_fields(), "Flags", "IGNORE_JOBS");
    ASSERT_EQ(outcome(kRoot, message), 0u) << what_was_said();
  }

  static void add(google::protobuf::RepeatedPtrField<api::Field>& fields, const std::string& name,
                  const std::string& value) {
    api::Field& field = *fields.Add();
    field.set_name(name);
    field.set_value(value);
  }

  int64_t now_ = 0;
  std::vector<uint32_t> jobs_;
};

TEST_P(WorldFromRecords, SaysOfEveryJobWhatTheEngineSays) {
  const char* chosen = std::getenv("MINKE_WORLD_SEED");
  const int seed = chosen != nullptr ? std::atoi(chosen) : GetParam();
  Random random(static_cast<uint64_t>(seed));
  uint32_t forecasts = 0;
  if (seed % 4 == 3) reserve();
  for (int moment = 0; moment < 6; ++moment) {
    records();
    for (uint32_t left = random.between(5, 12); left > 0; --left) submit_one(random);
    for (uint32_t left = random.up_to(3); left > 0; --left) act(random);
    for (uint32_t left = random.up_to(4); left > 0; --left) {
      engine().pass(random.between(1, 90));
      engine().end_one(random.up_to(30), 0);
    }
    const std::string when = "seed " + std::to_string(seed) + ", moment " + std::to_string(moment);
    forecasts += compare(when);
    if (HasFailure()) return;
  }
  EXPECT_GT(forecasts, 20u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, WorldFromRecords, testing::Range(1, 13));

}  // namespace
}  // namespace minke::engine::simulation
