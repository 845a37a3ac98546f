// The whole engine in virtual time: first without faults, then under every kind of fault.
//
// Every run of the tests uses 32 seeds. MINKE_SIMULATION_SEED=N runs only that seed and prints the events.
// MINKE_SIMULATION_SECONDS=N continues with new seeds for so long (./dev test --long).
// MINKE_SIMULATION_FAULTS=daemon,launcher,power,eio,full,descriptors,slow allows only these kinds of faults.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "api/jobs.pb.h"
#include "engine/embedded/simulation/engine.h"
#include "engine/embedded/simulation/simulation.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "rpc/messages.pb.h"
#include "store/testing.h"

namespace minke::engine::simulation {
namespace {

constexpr int64_t kEpoch = 1'700'000'000;

TEST(SimulatedEngine, ABatchJobIsSubmittedRunsAndEnds) {
  store::testing::TemporaryDirectory home;
  Agenda agenda;
  Machine machine(agenda, home.path(), [&] {
    return kEpoch + std::chrono::duration_cast<std::chrono::seconds>(agenda.now()).count();
  });
  LauncherHost launcher(machine);
  Engine engine(agenda, launcher,
                {.config = simulated_configuration(home.path()), .boot_id = machine.boot_id()});
  const Status started = engine.start();
  ASSERT_TRUE(started) << started.error().message;
  const auto run_until = [&](const std::function<bool()>& condition) {
    while (!condition() && (engine.turn() || agenda.step())) {
    }
    return condition();
  };
  ASSERT_TRUE(run_until([&] { return engine.ready(); }));

  const auto client = engine.connect();
  ASSERT_NE(client, nullptr);
  rpc::ClientMessage submission;
  *submission.mutable_submit() = batch_request("0123456789abcdef", "run=3600 exit=7", home.path());
  uint32_t job_id = 0;
  client->ask(submission, [&](const rpc::ServerMessage& answer) {
    EXPECT_FALSE(answer.has_error()) << answer.error().message() << answer.error().detail();
    job_id = answer.submit().job_id();
  });
  ASSERT_TRUE(run_until([&] { return job_id != 0; }));

  rpc::ClientMessage wait;
  wait.mutable_wait_job()->set_job_id(job_id);
  wait.mutable_wait_job()->set_until(api::WaitJobRequest::ENDED);
  model::JobRecord ended;
  client->ask(wait, [&](const rpc::ServerMessage& answer) {
    if (answer.last()) ended = answer.wait_job().job();
  });
  ASSERT_TRUE(run_until([&] { return ended.job_id() != 0; }));
  EXPECT_EQ(ended.state(), model::JOB_FAILED);
  EXPECT_EQ(ended.exit_code(), 7 << 8);
  EXPECT_EQ(ended.end_time() - ended.start_time(), 3600);
  EXPECT_EQ(machine.starts().size(), 1u);
  EXPECT_TRUE(machine.processes().empty());
}

char running_seed[64];

// If an invariant of the engine breaks, the program ends: prints the seed before.
void name_seed(int) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, running_seed, std::strlen(running_seed));
}

SimulationOptions options_of(uint64_t seed, bool print) {
  SimulationOptions options{.seed = seed, .print = print};
  const char* faults = std::getenv("MINKE_SIMULATION_FAULTS");
  if (faults == nullptr) return options;
  const std::string list = faults;
  const auto named = [&](const char* name) { return list.find(name) != std::string::npos; };
  options.kill_daemon = named("daemon");
  options.kill_launcher = named("launcher");
  options.cut_power = named("power");
  options.fail_disk = named("eio");
  options.fill_disk = named("full");
  options.no_descriptors = named("descriptors");
  options.slow_disk = named("slow");
  return options;
}

std::string run_seed(uint64_t seed, bool print, uint64_t* digest = nullptr) {
  std::snprintf(running_seed, sizeof running_seed, "MINKE_SIMULATION_SEED=%llu\n",
                static_cast<unsigned long long>(seed));
  std::signal(SIGABRT, name_seed);
  store::testing::TemporaryDirectory home;
  Simulation simulation(home.path(), options_of(seed, print));
  std::string found;
  for (const Finding& finding : simulation.run()) found += "\n  " + finding.kind + ": " + finding.what;
  if (print || !found.empty())
    std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(seed),
                 simulation.summary().c_str());
  if (digest != nullptr) *digest = simulation.digest();
  return found.empty() ? "" : running_seed + found.substr(1);
}

uint64_t variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? 0 : std::strtoull(value, nullptr, 10);
}

TEST(SimulatedCluster, AnEqualSeedMakesAnEqualRun) {
  uint64_t first = 0, second = 0;
  run_seed(7, false, &first);
  run_seed(7, false, &second);
  EXPECT_EQ(first, second);
}

class SimulatedFaults : public testing::TestWithParam<uint64_t> {};

TEST_P(SimulatedFaults, KeepEveryPromise) {
  constexpr uint64_t kSeeds = 4;  // of each test: they run side by side
  if (variable("MINKE_SIMULATION_SEED") != 0 || variable("MINKE_SIMULATION_SECONDS") != 0)
    GTEST_SKIP() << "something else was asked for";
  for (uint64_t seed = GetParam() * kSeeds; seed < (GetParam() + 1) * kSeeds; ++seed)
    EXPECT_EQ(run_seed(seed + 1, false), "");
}
INSTANTIATE_TEST_SUITE_P(Seeds, SimulatedFaults, testing::Range(uint64_t{0}, uint64_t{8}));

TEST(SimulatedCluster, KeepsEveryPromiseOfTheSeedAskedFor) {
  const uint64_t seed = variable("MINKE_SIMULATION_SEED");
  if (seed == 0) GTEST_SKIP() << "MINKE_SIMULATION_SEED is not set";
  EXPECT_EQ(run_seed(seed, true), "");
}

TEST(SimulatedCluster, KeepsEveryPromiseForALongTime) {
  const uint64_t seconds = variable("MINKE_SIMULATION_SECONDS");
  if (seconds == 0) GTEST_SKIP() << "MINKE_SIMULATION_SECONDS is not set";
  const auto begin = std::chrono::steady_clock::now();
  // Different seeds each time; prints the first one, so that the run can be repeated.
  uint64_t seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  std::fprintf(stderr, "seeds from %llu on\n", static_cast<unsigned long long>(seed));
  uint64_t runs = 0;
  for (; std::chrono::steady_clock::now() - begin < std::chrono::seconds(seconds) && !HasFailure(); ++runs)
    EXPECT_EQ(run_seed(seed++, false), "");
  std::fprintf(stderr, "%llu runs\n", static_cast<unsigned long long>(runs));
}

}  // namespace
}  // namespace minke::engine::simulation
