// The end of a job: nothing of it is left, however it tries to survive, and signals reach their targets.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "model/step_record.pb.h"
#include "node/launch.pb.h"
#include "node/launcher_harness.h"
#include "node/process_tree.h"

namespace minke::node {
namespace {

pid_t pid_in(const std::string& path) {
  pid_t pid = 0;
  EXPECT_TRUE(eventually([&] {
    std::string text = read_whole(path);
    pid = text.ends_with('\n') ? std::atoi(text.c_str()) : 0;
    return pid != 0;
  })) << path;
  return pid;
}

// The parameter: whether the kernel's list of children may be used.
class Clearing : public testing::TestWithParam<bool> {
 protected:
  TemporaryDirectory work;
  LauncherHarness launcher{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(ChildList, Clearing, testing::Bool(),
                         [](const auto& choice) { return choice.param ? "Kernel" : "Proc"; });

TEST_P(Clearing, ABackgroundProcessEndsWithItsJob) {
  launcher.run(batch_order(1, "sleep 1000 & echo $! > pid", work.path()));
  EXPECT_FALSE(process_exists(pid_in(work / "pid")));
}

TEST_P(Clearing, SoDoesAnotherProcessGroup) {
  launcher.run(batch_order(1, "set -m; sleep 1000 & echo $! > pid", work.path()));
  EXPECT_FALSE(process_exists(pid_in(work / "pid")));
}

TEST_P(Clearing, SoDoesADaemon) {
  launcher.run(batch_order(1,
                           "setsid sh -c '(sleep 1000 & echo $! > pid; sleep 1000 & echo $! > pid2) &'\n"
                           "while ! [ -s pid2 ]; do :; done",
                           work.path()));
  EXPECT_FALSE(process_exists(pid_in(work / "pid")));
  EXPECT_FALSE(process_exists(pid_in(work / "pid2")));
}

TEST_P(Clearing, SoDoesADaemonWithoutEnvironmentWhereThereIsOneJob) {
  launcher.run(batch_order(1,
                           "setsid env -i sh -c '(sleep 1000 & echo $! > pid) &'\n"
                           "while ! [ -s pid ]; do :; done",
                           work.path()));
  EXPECT_FALSE(process_exists(pid_in(work / "pid")));
}

TEST_P(Clearing, SoDoWholeTreesOfThem) {
  launcher.run(batch_order(
      1,
      "for i in 1 2 3 4 5; do setsid sh -c '(setsid sleep 1000 & sleep 1000 & wait) & wait' & done\n"
      "exec setsid -f sh -c 'sleep 1000; true'",
      work.path()));
  for (const Process& process : read_all_processes()) {
    if (process.state == 'Z') continue;
    auto marker = initial_variable(process.pid, "MINKE_LAUNCH");
    EXPECT_FALSE(marker && marker->ends_with("/1.0") &&
                 process.parent == static_cast<pid_t>(launcher.inventory.pid()))
        << process.pid;
  }
  launcher.end_job(1);  // answered only when a search for marked processes finds none
  launcher.wait_job_ended(1);
}

TEST_P(Clearing, OtherJobsAreLeftAlone) {
  LaunchOrder other =
      batch_order(2, "setsid sh -c '(sleep 1000 & echo $! > other) &'; sleep 1000", work.path());
  launcher.launch(other);
  pid_t daemon = pid_in(work / "other");
  launcher.run(batch_order(1, "setsid sh -c '(sleep 1000 & echo $! > pid) &'; while ! [ -s pid ]; do :; done",
                           work.path()));
  EXPECT_FALSE(process_exists(pid_in(work / "pid")));
  EXPECT_TRUE(process_exists(daemon));
  launcher.signal(2, SIGKILL, SignalOrder::ALL);
  launcher.wait_ended(other.id());
  EXPECT_FALSE(process_exists(daemon));
}

// A command in a job may have started it; it serves other jobs than that one.
TEST_P(Clearing, ADaemonOfMinkeItselfOutlivesTheJobItWasStartedIn) {
  char program[4096] = {};
  ASSERT_GT(::readlink("/proc/self/exe", program, sizeof program - 1), 0);
  TemporaryDirectory other_home;
  LaunchOrder order =
      batch_order(1,
                  "setsid sh -c '\"$PROGRAM\" launcher --home \"$OTHER\" > up & echo $! > pid'\n"
                  "while ! [ -s up ]; do :; done",
                  work.path());
  order.mutable_tasks(0)->add_environment(std::string("PROGRAM=") + program);
  order.mutable_tasks(0)->add_environment("OTHER=" + other_home.path());
  EXPECT_EQ(launcher.run(order).ended_tasks(0).status(), 0);
  pid_t daemon = pid_in(work / "pid");
  EXPECT_TRUE(process_exists(daemon));
  ::kill(daemon, SIGKILL);
  EXPECT_TRUE(eventually([&] { return !process_exists(daemon); }));
}

TEST_P(Clearing, TheBatchScriptsEndEndsItsSteps) {
  LaunchOrder step = step_order(1, 0, "sleep 1000", work.path(), 2);
  LaunchOrder batch = batch_order(1, "while ! [ -e go ]; do :; done", work.path());
  launcher.launch(batch);
  launcher.launch(step);
  launcher.wait_started(step.id());
  write_whole(work / "go", "");
  Launch ended = launcher.wait_ended(batch.id());
  EXPECT_EQ(ended.ended_tasks(0).status(), 0);
  size_t step_told = launcher.events.size();
  for (size_t i = 0; i < launcher.events.size(); ++i) {
    if (launcher.events[i].has_ended() && launcher.events[i].ended().id().kind() == model::STEP_NORMAL)
      step_told = i;
  }
  ASSERT_LT(step_told, launcher.events.size()) << "the step is told before the batch script";
  EXPECT_EQ(launcher.events[step_told].ended().ended_tasks(0).status(), SIGKILL);
}

TEST_P(Clearing, AStepTakesItsSessionsAlong) {
  LaunchOrder batch = batch_order(1, "sleep 1000", work.path());
  launcher.launch(batch);
  launcher.run(step_order(1, 0, "set -m; sleep 1000 & echo $! > pid.$SLURM_PROCID", work.path(), 2));
  for (const char* name : {"pid.0", "pid.1"}) {
    pid_t pid = pid_in(work / name);
    EXPECT_TRUE(eventually([&] { return !process_exists(pid); }));
  }
  EXPECT_TRUE(process_exists(static_cast<pid_t>(launcher.wait_started(batch.id()).pids(0))));
}

TEST_P(Clearing, EndJobEndsAnAllocation) {
  std::string tmp = work / "tmp";
  LaunchOrder step = step_order(1, 0, "sleep 1000", work.path());
  step.set_tmp_dir(tmp);
  launcher.launch(step);
  launcher.wait_started(step.id());
  EXPECT_EQ(::access(tmp.c_str(), F_OK), 0);
  launcher.end_job(1, tmp);
  launcher.wait_job_ended(1);
  EXPECT_EQ(launcher.wait_ended(step.id()).ended_tasks(0).status(), SIGKILL);
  EXPECT_NE(::access(tmp.c_str(), F_OK), 0);
  launcher.end_job(77, work / "never-made");  // one that never had a step
  launcher.wait_job_ended(77);
}

TEST_P(Clearing, NothingStartsInAJobThatEnds) {
  launcher.launch(batch_order(2, "sleep 1000", work.path()));
  launcher.wait_started(launch_id(2, model::STEP_BATCH));
  // Both orders lie there when it goes on: the second comes before the news that the batch script is gone.
  const auto pid = static_cast<pid_t>(launcher.inventory.pid());
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  launcher.end_job(2);
  launcher.launch(step_order(2, 0, "touch ran", work.path()));
  ASSERT_EQ(::kill(pid, SIGCONT), 0);
  EXPECT_EQ(launcher.wait_ended(launch_id(2, model::STEP_NORMAL, 0)).launch_error(), "the job is ending");
  EXPECT_NE(::access((work / "ran").c_str(), F_OK), 0);
}

TEST_P(Clearing, TheTemporaryDirectoryLivesAsLongAsItsJob) {
  std::string tmp = work / "tmp.1";
  ASSERT_EQ(::mkdir((work / "precious").c_str(), 0700), 0);
  write_whole(work / "precious/file", "kept");
  LaunchOrder order =
      batch_order(1,
                  "cd $TMP && stat -c %a . && for i in $(seq 1000); do echo $i > file.$i; done\n"
                  "mkdir -p a/b/c closed/inner && ln -s ../precious link && ln -s / a/b/root\n"
                  "touch closed/inner/x; chmod 0 closed/inner; chmod 0 closed\n"
                  "d=deep; for i in $(seq 300); do mkdir $d && cd $d && : > f; done\n",
                  work.path());
  order.mutable_tasks(0)->add_environment("TMP=" + tmp);
  order.set_tmp_dir(tmp);
  Launch launch = launcher.run(order);
  EXPECT_EQ(launch.ended_tasks(0).status(), 0) << read_whole(work / "out.1");
  EXPECT_EQ(read_whole(work / "out.1"), "700\n");
  struct stat info {};
  EXPECT_NE(::lstat(tmp.c_str(), &info), 0) << read_whole(launcher.home / "launcher.log");
  EXPECT_EQ(read_whole(work / "precious/file"), "kept");
}

TEST_P(Clearing, ATemporaryDirectoryThatCannotBeMadeIsAnError) {
  write_whole(work / "occupied", "by a file");
  for (const std::string& path : {work / "no/such/parent", work / "occupied"}) {
    LaunchOrder order = batch_order(1, "touch ran", work.path());
    order.mutable_id()->set_run(static_cast<uint32_t>(path.size()));
    order.set_tmp_dir(path);
    Launch launch = launcher.run(order);
    EXPECT_THAT(launch.launch_error(), testing::StartsWith("cannot make the temporary directory " + path));
  }
  EXPECT_EQ(read_whole(work / "occupied"), "by a file");
  EXPECT_NE(::access((work / "ran").c_str(), F_OK), 0);
}

// Each process writes down that it got the signal.
class Signals : public testing::Test {
 protected:
  void SetUp() override {
    const char* trap = "trap 'echo $NAME >> got' USR1; echo $NAME >> up; while :; do sleep 0.01; done";
    std::string named = std::string("export NAME; NAME=");
    LaunchOrder batch = batch_order(
        1, named + "child sh -c \"$T\" & " + "setsid env NAME=apart sh -c \"$T\" & NAME=shell; eval \"$T\"",
        work.path());
    batch.mutable_tasks(0)->add_environment(std::string("T=") + trap);
    launcher.launch(batch);
    for (uint32_t step : {0u, 1u}) {
      LaunchOrder order =
          step_order(1, step, named + "step" + std::to_string(step) + "; eval \"$T\"", work.path());
      order.mutable_tasks(0)->add_environment(std::string("T=") + trap);
      launcher.launch(order);
    }
    ASSERT_TRUE(eventually([&] { return count_lines(work / "up") == 5; })) << read_whole(work / "out.1");
  }
  // Who gets it, sorted.
  std::string got(SignalOrder::Target target, size_t count, uint32_t step = 0) {
    ::unlink((work / "got").c_str());
    launcher.signal(1, SIGUSR1, target, step);
    EXPECT_TRUE(eventually([&] { return count_lines(work / "got") >= count; })) << read_whole(work / "got");
    // Whatever else were to get it has it before what a later signal makes the same processes write.
    std::string text = read_whole(work / "got");
    std::vector<std::string> names;
    for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
      names.push_back(text.substr(at, text.find('\n', at) - at));
    }
    std::sort(names.begin(), names.end());
    std::string sorted;
    for (const std::string& name : names) sorted.append(sorted.empty() ? "" : " ").append(name);
    return sorted;
  }
  TemporaryDirectory work;
  LauncherHarness launcher;
};

TEST_F(Signals, ReachTheirTargets) {
  EXPECT_EQ(got(SignalOrder::ALL, 5), "apart child shell step0 step1");
  EXPECT_EQ(got(SignalOrder::STEPS, 2), "step0 step1");
  EXPECT_EQ(got(SignalOrder::BATCH_SHELL, 1), "shell");
  EXPECT_EQ(got(SignalOrder::BATCH_SESSION, 2), "child shell");
  EXPECT_EQ(got(SignalOrder::ONE_STEP, 1, 1), "step1");
  EXPECT_EQ(got(SignalOrder::ALL, 5), "apart child shell step0 step1");
}

TEST_F(Signals, KillAllEndsTheJob) {
  launcher.signal(1, SIGKILL, SignalOrder::ALL);
  EXPECT_EQ(launcher.wait_ended(launch_id(1)).ended_tasks(0).status(), SIGKILL);
  launcher.signal(1, SIGKILL, SignalOrder::ALL);  // to nobody
  launcher.signal(99, SIGKILL, SignalOrder::ALL);
  EXPECT_EQ(launcher.run(batch_order(2, "true", work.path())).ended_tasks(0).status(), 0);
}

// A signal right after the order finds the task, however far that has come.
TEST(SignalsAtOnce, FindATaskThatHasOnlyJustBegun) {
  TemporaryDirectory work;
  LauncherHarness launcher;
  for (uint32_t job = 1; job <= 100; ++job) {
    launcher.launch(batch_order(job, "sleep 1000", work.path()));
    launcher.signal(job, SIGTERM, SignalOrder::ALL);
  }
  for (uint32_t job = 1; job <= 100; ++job) {
    EXPECT_EQ(launcher.wait_ended(launch_id(job)).ended_tasks(0).status(), SIGTERM);
  }
}

}  // namespace
}  // namespace minke::node
