// The launcher's promises across deaths: its own and its daemon's.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "node/journal.h"
#include "node/journal.pb.h"
#include "node/launch.pb.h"
#include "node/launch_table.h"
#include "node/launcher.h"
#include "node/launcher_harness.h"
#include "os/event_loop.h"

namespace minke::node {
namespace {

class Recovery : public testing::Test {
 protected:
  TemporaryDirectory work;
  LauncherHarness launcher;
};

TEST_F(Recovery, AnOrderGivenTwiceRunsOnce) {
  LaunchOrder order = batch_order(1, "echo run >> runs; while ! [ -e go ]; do :; done", work.path());
  launcher.launch(order);
  pid_t pid = static_cast<pid_t>(launcher.wait_started(order.id()).pids(0));
  launcher.events.clear();
  launcher.launch(order);
  EXPECT_EQ(launcher.wait_started(order.id()).pids(0), static_cast<uint32_t>(pid));
  write_whole(work / "go", "");
  launcher.wait_ended(order.id());
  launcher.events.clear();
  Launch again = launcher.run(order);
  EXPECT_EQ(again.ended_tasks(0).status(), 0);
  EXPECT_EQ(count_lines(work / "runs"), 1u);
  launcher.collect(order.id());
  order.mutable_id()->set_run(1);  // requeued
  launcher.run(order);
  EXPECT_EQ(count_lines(work / "runs"), 2u);
}

TEST_F(Recovery, KeepsEverythingForTheNextDaemon) {
  LaunchOrder quick = batch_order(1, "exit 7", work.path());
  LaunchOrder slow = batch_order(2, "while ! [ -e go ]; do :; done; exit 8", work.path());
  launcher.launch(quick);
  launcher.launch(slow);
  launcher.wait_started(slow.id());
  launcher.disconnect();
  EXPECT_TRUE(eventually([&] {
    launcher.connect();
    auto launch = launcher.in_inventory(quick.id());
    return launch && launch->end_time() != 0 && launch->ended_tasks(0).status() == 7 << 8 &&
           launch->tag() == "tag of 1";
  }));
  auto running = launcher.in_inventory(slow.id());
  ASSERT_TRUE(running);
  EXPECT_EQ(running->end_time(), 0);
  EXPECT_TRUE(process_exists(static_cast<pid_t>(running->pids(0))));
  launcher.collect(quick.id());
  launcher.collect(slow.id());  // it runs: nothing to collect yet
  write_whole(work / "go", "");
  EXPECT_EQ(launcher.wait_ended(slow.id()).ended_tasks(0).status(), 8 << 8);
  launcher.connect();
  EXPECT_FALSE(launcher.in_inventory(quick.id()));
  EXPECT_TRUE(launcher.in_inventory(slow.id()));
}

TEST_F(Recovery, ANewDaemonReplacesTheOld) {
  auto old = rpc::Channel::connect(launcher_socket_path(launcher.home.path()));
  ASSERT_TRUE(old);
  DaemonMessage first;
  first.set_inventory(true);
  ASSERT_TRUE(old->send(first));
  LauncherMessage message;
  ASSERT_TRUE(old->receive(message, std::chrono::milliseconds(120'000)));
  launcher.connect();
  auto lost = old->receive(message, std::chrono::milliseconds(120'000));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ECONNRESET);
  EXPECT_EQ(launcher.run(batch_order(1, "true", work.path())).ended_tasks(0).status(), 0);
}

TEST_F(Recovery, ASecondLauncherRefuses) {
  pid_t pid = ::fork();
  if (pid == 0) {
    os::UniqueFd null(::open("/dev/null", O_RDWR));
    ::dup2(null.get(), 2);
    ::execl("/proc/self/exe", "node_test", "launcher", "--home", launcher.home.path().c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, kLauncherExists << 8);
  EXPECT_EQ(launcher.run(batch_order(1, "true", work.path())).ended_tasks(0).status(), 0);
}

TEST_F(Recovery, StopsOnlyWhenNothingIsLeft) {
  LaunchOrder order = batch_order(1, "true", work.path());
  launcher.run(order);
  DaemonMessage stop;
  stop.set_shutdown(true);
  launcher.send(stop);  // not collected yet
  EXPECT_EQ(launcher.run(batch_order(2, "true", work.path())).ended_tasks(0).status(), 0);
  launcher.collect(order.id());
  launcher.collect(launch_id(2));
  launcher.send(stop);
  EXPECT_TRUE(eventually([&] { return !process_exists(static_cast<pid_t>(launcher.inventory.pid())); }));
  EXPECT_NE(::access(launcher_socket_path(launcher.home.path()).c_str(), F_OK), 0);
}

TEST_F(Recovery, AKilledLaunchersJobsAreLostAndCleared) {
  LaunchOrder ended = batch_order(1, "exit 5", work.path());
  launcher.run(ended);
  std::string tmp = work / "tmp.2";
  LaunchOrder running = batch_order(2,
                                    "echo data > $TMP/file; sleep 1000 & echo $! > child\n"
                                    "setsid sh -c '(sleep 1000 & echo $! > escaped) &'\n"
                                    "env -i sleep 1000 & echo $! > bare; sleep 1000",
                                    work.path());
  running.mutable_tasks(0)->add_environment("TMP=" + tmp);
  running.set_tmp_dir(tmp);
  launcher.launch(running);
  ASSERT_TRUE(
      eventually([&] { return count_lines(work / "escaped") == 1 && count_lines(work / "bare") == 1; }));
  std::vector<pid_t> pids = {static_cast<pid_t>(launcher.wait_started(running.id()).pids(0))};
  for (const char* name : {"child", "escaped", "bare"})
    pids.push_back(std::atoi(read_whole(work / name).c_str()));
  for (pid_t pid : pids) EXPECT_TRUE(process_exists(pid));
  std::string instance = launcher.inventory.instance();
  launcher.kill_launcher();
  launcher.events.clear();
  launcher.start();
  EXPECT_NE(launcher.inventory.instance(), instance);
  auto known = launcher.in_inventory(ended.id());
  if (known && known->end_time() == 0) known = launcher.wait_ended(ended.id());
  ASSERT_TRUE(known);
  EXPECT_EQ(known->ended_tasks(0).status(), 5 << 8);
  EXPECT_FALSE(known->lost());
  auto lost = launcher.in_inventory(running.id());
  ASSERT_TRUE(lost);
  if (lost->end_time() == 0) lost = launcher.wait_ended(running.id());
  EXPECT_TRUE(lost->lost());
  EXPECT_EQ(lost->ended_tasks_size(), 0);
  for (pid_t pid : pids) EXPECT_FALSE(process_exists(pid)) << pid;
  EXPECT_NE(::access(tmp.c_str(), F_OK), 0);
  // Not again, until it is collected; and it stays lost for the launcher after this one.
  EXPECT_TRUE(launcher.run(running).lost());
  launcher.kill_launcher();
  launcher.start();
  lost = launcher.in_inventory(running.id());
  ASSERT_TRUE(lost);
  if (lost->end_time() == 0) lost = launcher.wait_ended(running.id());
  EXPECT_TRUE(lost->lost());
  launcher.collect(running.id());
  launcher.collect(ended.id());
  launcher.connect();  // an answer, so that both have been read
  launcher.kill_launcher();
  launcher.start();
  EXPECT_EQ(launcher.inventory.launches_size(), 0);
}

TEST_F(Recovery, AfterAnotherBootAllThatRanIsLost) {
  LaunchOrder order = batch_order(1, "sleep 1000", work.path());
  order.set_tmp_dir(work / "tmp");
  launcher.launch(order);
  launcher.wait_started(order.id());
  launcher.kill_launcher();
  auto contents = Journal::read(launcher_journal_path(launcher.home.path()));
  ASSERT_TRUE(contents);
  // Whoever has its pid now is somebody else.
  JournalHeader header = contents->header;
  header.set_boot_id("another boot");
  for (auto& record : contents->records) {
    if (record.has_running()) record.mutable_running()->set_pids(0, static_cast<uint32_t>(::getpid()));
  }
  ASSERT_TRUE(Journal::create(launcher_journal_path(launcher.home.path()), header, contents->records));
  launcher.events.clear();
  launcher.start();
  auto lost = launcher.in_inventory(order.id());
  ASSERT_TRUE(lost);
  if (lost->end_time() == 0) lost = launcher.wait_ended(order.id());
  EXPECT_TRUE(lost->lost());
  EXPECT_NE(::access((work / "tmp").c_str(), F_OK), 0);
}

TEST_F(Recovery, ADamagedJournalIsMovedAside) {
  launcher.kill_launcher();
  write_whole(launcher_journal_path(launcher.home.path()), "this is no journal");
  launcher.start();
  EXPECT_EQ(read_whole(launcher_journal_path(launcher.home.path()) + ".damaged"), "this is no journal");
  EXPECT_EQ(launcher.run(batch_order(1, "true", work.path())).ended_tasks(0).status(), 0);
}

// A daemon resends everything that is not known to have run, while its launcher is killed again and again.
// Every job runs once, or not at all if it is reported as lost. Reported ends are true.
TEST_F(Recovery, KilledAtAnyMomentNothingRunsTwice) {
  std::mt19937 random(20'26);
  uint32_t next_job = 1;
  std::set<uint32_t> open;        // sent, end not known
  std::map<uint32_t, bool> lost;  // by ended job
  auto order_of = [&](uint32_t job) {
    std::string script = "echo run >> runs." + std::to_string(job) + "; echo done >> done." +
                         std::to_string(job) + "; exit " + std::to_string(job % 200);
    return batch_order(job, script, work.path());
  };
  auto note_end = [&](const Launch& launch) {
    uint32_t job = launch.id().job_id();
    ASSERT_EQ(launch.launch_error(), "");
    lost[job] = launch.lost();
    if (!launch.lost()) {
      ASSERT_EQ(launch.ended_tasks_size(), 1);
      EXPECT_EQ(launch.ended_tasks(0).status(), static_cast<int>(job % 200) << 8);
    }
    open.erase(job);
    launcher.collect(launch.id());
  };
  constexpr int kDeaths = 40;
  for (int death = 0; death < kDeaths; ++death) {
    for (int i = 0; i < 20; ++i) {
      launcher.launch(order_of(next_job));
      open.insert(next_job++);
    }
    // Some answers, then death while others are on their way.
    size_t answers = random() % 61;
    for (size_t i = 0; i < answers && !open.empty(); ++i) {
      auto message = launcher.next();
      ASSERT_TRUE(message);
      if (message->has_ended()) note_end(message->ended());
    }
    launcher.kill_launcher();
    launcher.events.clear();
    launcher.start();
    std::set<uint32_t> known;
    for (const Launch& launch : launcher.inventory.launches()) {
      uint32_t job = launch.id().job_id();
      known.insert(job);
      EXPECT_EQ(launch.tag(), "tag of " + std::to_string(job));
      if (!open.contains(job)) {  // its collection was lost with the launcher
        launcher.collect(launch.id());
        continue;
      }
      if (launch.end_time() != 0) note_end(launch);
    }
    for (uint32_t job : std::set<uint32_t>(open)) {
      if (!known.contains(job)) launcher.launch(order_of(job));
    }
    while (!open.empty()) {
      auto message = launcher.next();
      ASSERT_TRUE(message) << open.size() << " have not ended";
      if (message->has_ended() && open.contains(message->ended().id().job_id())) note_end(message->ended());
    }
  }
  int lost_ones = 0;
  for (uint32_t job = 1; job < next_job; ++job) {
    size_t runs = count_lines(work / ("runs." + std::to_string(job)));
    ASSERT_TRUE(lost.contains(job));
    if (lost[job]) {
      ++lost_ones;
      EXPECT_LE(runs, 1u) << job;
    } else {
      EXPECT_EQ(runs, 1u) << job;
      EXPECT_EQ(count_lines(work / ("done." + std::to_string(job))), 1u) << job;
    }
  }
  EXPECT_GT(lost_ones, 0);
  EXPECT_LT(lost_ones, kDeaths * 20 * 3 / 4);
}

TEST(LauncherClientTest, StartsALauncherWhereNoneRunsAndFindsItAgain) {
  LauncherHarness harness;  // for its home; its launcher goes at once
  harness.kill_launcher();
  TemporaryDirectory work;
  os::EventLoop loop;
  auto deadline = loop.make_timer([&] {
    ADD_FAILURE() << "no answer";
    loop.stop();
  });
  deadline->set_after(std::chrono::seconds(120));
  std::unique_ptr<LauncherClient> client;
  std::vector<std::string> told;
  int starts = 0;
  LauncherClient::Callbacks callbacks;
  callbacks.on_inventory = [&](Inventory inventory) {
    harness.inventory = inventory;
    told.push_back("inventory");
    if (++starts == 1) {
      client->launch(batch_order(1, "while ! [ -e go ]; do :; done", work.path()), {});
    } else {
      ASSERT_EQ(inventory.launches_size(), 1);
      write_whole(work / "go", "");
      if (starts == 3 && inventory.launches(0).end_time() != 0) loop.stop();
    }
  };
  callbacks.on_started = [&](Launch) {
    told.push_back("started");
    client->start();  // as a daemon that comes back
  };
  callbacks.on_ended = [&](Launch launch) {
    EXPECT_EQ(launch.ended_tasks(0).status(), 0);
    if (starts == 3)
      return loop.stop();  // the third launcher still had to look for what the job may have left
    told.push_back("ended");
    ::kill(static_cast<pid_t>(harness.inventory.pid()), SIGKILL);
  };
  callbacks.on_task_ended = [](Launch) {};
  callbacks.on_job_ended = [](JobEnded) {};
  callbacks.on_lost_connection = [&](Status why) {
    EXPECT_FALSE(why);
    if (told.back() != "lost") told.push_back("lost");  // a dying launcher may take another connection along
    client->start();
  };
  client = make_launcher_client(loop, harness.client_options(), callbacks);
  client->start();
  loop.run();
  EXPECT_THAT(told, testing::ElementsAre("inventory", "started", "inventory", "ended", "lost", "inventory"));
}

TEST(LauncherClientTest, SaysThatItCannotStartOne) {
  TemporaryDirectory home;
  os::EventLoop loop;
  LauncherClient::Callbacks callbacks;
  std::string said;
  callbacks.on_inventory = [&](Inventory) { loop.stop(); };
  callbacks.on_lost_connection = [&](Status why) {
    said = why.error().message;
    loop.stop();
  };
  auto client = make_launcher_client(loop, {home.path(), {"/no/such/program"}, ""}, callbacks);
  client->start();
  loop.run();
  EXPECT_THAT(said, testing::HasSubstr("it does not start"));
}

TEST(LauncherClientTest, AwaitsOneThatOthersStart) {
  LauncherHarness harness;
  auto options = harness.client_options();
  const auto command = std::exchange(options.command, {"/no/such/program"});
  options.await = true;
  os::EventLoop loop;
  std::vector<std::string> told;
  std::unique_ptr<LauncherClient> client;
  LauncherClient::Callbacks callbacks;
  callbacks.on_inventory = [&](Inventory inventory) {
    told.push_back("inventory");
    harness.inventory = inventory;  // the launcher that the harness ends
    if (std::ranges::count(told, "inventory") == 2) return loop.stop();
    ::kill(static_cast<pid_t>(inventory.pid()), SIGKILL);
  };
  callbacks.on_lost_connection = [&](Status) {
    told.push_back("lost");
    client->start();
  };
  client = make_launcher_client(loop, options, callbacks);
  client->start();
  auto starter = loop.make_timer([] {});
  const auto start_again = [&] {
    // Later than the first look for it.
    const auto started =
        start_launcher({.home = options.home, .command = command, .log_path = "", .await = false});
    ASSERT_TRUE(started);
    starter->set_after(std::chrono::milliseconds(500));
  };
  starter = loop.make_timer(start_again);
  starter->set_after(std::chrono::milliseconds(300));
  loop.run();
  // The socket of one that is being killed may still answer: then the connection is lost once more.
  EXPECT_EQ(told.front(), "inventory");
  EXPECT_GE(std::ranges::count(told, "lost"), 1);
}

}  // namespace
}  // namespace minke::node
